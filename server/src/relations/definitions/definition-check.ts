import { checkFilter, type Filter } from '../../catalog/catalog.ts';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { RelationDefinition } from './relation.ts';
import { COMPARISONS_PER_RULE } from './rule.ts';

/**
 * Whether a definition can be stored; whether it works with the ontology is checked later (`rule.ts`). Source:
 * docs/interface.md §12.1.
 */

export type SentDefinition = Pick<RelationDefinition, 'name' | 'tag'> & {
  readonly source: unknown;
  readonly target: unknown;
} & Partial<Omit<RelationDefinition, 'name' | 'tag' | 'source' | 'target'>>;

/** More could never work, whatever the ontology becomes. */
function checkMatches(path: string, match: RelationDefinition['match']): string[] {
  const compared = match.filter(({ operator }) => operator !== 'equals').length;
  if (compared <= COMPARISONS_PER_RULE) return [];
  return [`${path} has ${compared} matches other than equals, at most ${COMPARISONS_PER_RULE} are possible`];
}

/**
 * @param path of the definition in the body
 * @returns the definition with its defaults @throws request_invalid that names every mistake in the filters
 */
export function checkDefinition(sent: SentDefinition, path = ''): RelationDefinition {
  const errors = [
    ...checkFilter(`${path}/source`, sent.source),
    ...checkFilter(`${path}/target`, sent.target),
    ...checkMatches(`${path}/match`, sent.match ?? []),
  ];
  if (errors.length > 0) {
    const shown = boundLines(errors, { most: 20, bytes: 8 * 1024 });
    throw new ServiceError('request_invalid', {
      details: shown,
      validation: [{ product: null, schemaErrors: shown, errors: shown }],
    });
  }
  const { description } = sent;
  return {
    name: sent.name,
    tag: sent.tag,
    ...(description !== undefined && { description }),
    twoWay: sent.twoWay ?? false,
    enabled: sent.enabled ?? true,
    source: sent.source as Filter,
    target: sent.target as Filter,
    match: sent.match ?? [],
    sort: sent.sort ?? [],
    names: sent.names ?? [],
    excludeSameGroup: sent.excludeSameGroup ?? true,
  };
}
