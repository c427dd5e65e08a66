/** A definition in a document that replaces a list, or in that list. */
export interface Recognisable {
  readonly id: number | string | undefined;
  /** The name that identifies the definition if no id does. */
  readonly name: string;
}

/**
 * Matches the entries of a document with definitions: first all entries by id, then the others by name, in order. So an
 * entry without an id cannot match a definition that another entry names by its id. Each definition matches once.
 * Source: docs/interface §12.1 rule 4.
 * @returns the definition of each entry (undefined for a new one), and the definitions without an entry
 */
export function recognise<Present extends Recognisable>(
  entries: readonly Recognisable[],
  present: readonly Present[],
): { readonly matched: readonly (Present | undefined)[]; readonly missing: readonly Present[] } {
  const free = new Set(present);
  const take = (definition: Present | undefined) =>
    definition !== undefined && free.delete(definition) ? definition : undefined;
  const byId = new Map(present.map((definition) => [definition.id, definition]));
  const identified = entries.map(({ id }) => (id === undefined ? undefined : take(byId.get(id))));
  const byName = Map.groupBy(free, ({ name }) => name);
  const matched = identified.map(
    (definition, index) => definition ?? take(byName.get(entries[index]?.name ?? '')?.shift()),
  );
  return { matched, missing: [...free] };
}
