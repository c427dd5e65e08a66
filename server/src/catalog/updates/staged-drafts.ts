import {
  type Attribute,
  type DraftedAttribute,
  type DraftSettings,
  describeDefinition,
  draftAttribute,
  type Observations,
  type Observed,
} from '../ontology/ontology.ts';
import type { StagedBatch } from '../port.ts';

/** With which definitions the values of a batch were judged. */
export interface ExtractedBy {
  readonly revision: number;
  readonly drafts: readonly (readonly [name: string, definition: string])[];
}

/** What earlier versions noted of the values in an open full update: their unit, null where they were not all numbers. */
interface FormerlyObserved {
  readonly unit: string | null;
  readonly isBoolean: boolean;
}

const updateObserved = ({ unit, isBoolean }: FormerlyObserved): Observed => ({
  ...{ first: '', isBoolean },
  ...(unit === null
    ? { units: [], misfits: { plain: '', comma: '', point: '' } }
    : { units: [[unit, '']], misfits: { comma: '' } }),
});

export const defined = (draft: Attribute) => [draft.name, describeDefinition(draft)] as const;

/** Another full update may have created what this one was to create, with other values in mind. */
export function isSettled(
  made: ExtractedBy,
  revision: number,
  known: ReadonlyMap<string, Attribute>,
): boolean {
  return (
    made.revision === revision &&
    made.drafts.every(([name, definition]) => {
      const attribute = known.get(name);
      return attribute === undefined || describeDefinition(attribute) === definition;
    })
  );
}

export function readObserved({ observed }: StagedBatch): Observations {
  const read = JSON.parse(observed) as [string, Observed | FormerlyObserved][];
  return new Map(read.map(([name, seen]) => [name, 'misfits' in seen ? seen : updateObserved(seen)]));
}

interface Drafting {
  readonly ids: ReadonlyMap<string, number>;
  readonly observed: Observations;
  readonly settings: DraftSettings;
}

export function draftOf(name: string, { ids, observed, settings }: Drafting): DraftedAttribute {
  const seen = observed.get(name);
  const id = ids.get(name);
  if (seen === undefined || id === undefined) throw new Error(`the attribute ${name} was not observed`);
  return draftAttribute({ id, name }, seen, settings);
}
