import type { RelationDefinition } from '@relata/client';

/** What one view gives the next one, and no address can carry. */
function createHandover<Thing>() {
  let given: Thing | undefined;
  return {
    give(thing: Thing): void {
      given = thing;
    },
    /** @returns it once: later callers get none */
    take(): Thing | undefined {
      const thing = given;
      given = undefined;
      return thing;
    },
  };
}

/** A file that was dropped on an empty project. */
export const droppedFile = createHandover<File>();
/** A relation that was suggested. */
export const draftedRelation = createHandover<RelationDefinition>();
