import type { Relation } from '../relations/relations.ts';
import type { RelationSuggestion } from './suggestion.ts';

/** Whether a suggestion of a relation is taken up already, as it is or changed by whoever took it up. */

type Filter = Relation['definition']['source'];

/** @returns whether one of the relations compares the same attributes of the same categories */
export function isThere({ draft }: RelationSuggestion, relations: readonly Relation[]): boolean {
  const sides = [
    [draft.source, draft.target],
    [draft.target, draft.source],
  ] as const;
  return relations.some(({ definition: { source, target, match } }) =>
    sides.some(([from, to], at) => {
      const isCompared = match.some((one) => {
        const [ofTarget, ofSource] = at === 0 ? [one.target, one.source] : [one.source, one.target];
        return draft.match.some(
          (drafted) =>
            nameOf(drafted.target) === nameOf(ofTarget) && nameOf(drafted.source) === nameOf(ofSource),
        );
      });
      return isCompared && overlap(source, from) && overlap(target, to);
    }),
  );
}

const nameOf = (value: Relation['definition']['match'][number]['target']) =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** A filter without categories may mean any. */
function overlap(filter: Filter, drafted: Filter): boolean {
  const [paths, own] = [listPaths(filter), listPaths(drafted)];
  return paths.length === 0 || paths.some((path) => own.some((one) => beginAlike(path, one)));
}

const beginAlike = (a: readonly string[], b: readonly string[]) =>
  a.slice(0, b.length).every((name, at) => name === b[at]);

function listPaths(filter: Filter): (readonly string[])[] {
  if ('category' in filter) return [filter.category];
  if ('all' in filter) return filter.all.flatMap(listPaths);
  if ('any' in filter) return filter.any.flatMap(listPaths);
  return [];
}
