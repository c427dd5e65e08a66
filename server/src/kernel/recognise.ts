/** A definition of a document that replaces a list, or one of that list. */
export interface Recognisable {
  readonly id: number | string | undefined;
  /** By which it is known where no id tells. */
  readonly name: string;
}

/**
 * What the entries of a document stand for: the whole document by id first, so that no name takes a definition that another
 * entry has by its id; then by name, in order, what is left. Each definition is met once. Source: docs/interface.md §12.1 rule 4.
 * @returns for each entry its definition, undefined for a new one; and the definitions that no entry stands for
 */
export function recognise<Present extends Recognisable>(
  sent: readonly Recognisable[],
  present: readonly Present[],
): { readonly met: readonly (Present | undefined)[]; readonly missing: readonly Present[] } {
  const free = new Set(present);
  const take = (one: Present | undefined) => (one !== undefined && free.delete(one) ? one : undefined);
  const byId = new Map(present.map((one) => [one.id, one]));
  const identified = sent.map(({ id }) => (id === undefined ? undefined : take(byId.get(id))));
  const byName = Map.groupBy(free, ({ name }) => name);
  const met = identified.map((one, at) => one ?? take(byName.get(sent[at]?.name ?? '')?.shift()));
  return { met, missing: [...free] };
}
