import { checkFilter, type Filter } from '../../catalog/filters/filters.ts';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isListed, type RelationDefinition } from './relation.ts';
import { COMPARISONS_PER_RULE } from './rule.ts';

/**
 * Whether a definition can be stored; whether it works with the ontology is checked later (`rule.ts`). Source:
 * docs/interface.md §12.1.
 */

export type SentDefinition = Pick<RelationDefinition, 'name' | 'tag'> & {
  readonly source?: unknown;
  readonly target?: unknown;
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
  const errors = isListed(sent)
    ? listRuleParts(sent, path)
    : [...listFilterErrors(sent, path), ...checkMatches(`${path}/match`, sent.match ?? [])];
  if (errors.length > 0) {
    const shown = boundLines(errors, { most: 20, bytes: 8 * 1024 });
    throw new ServiceError('request_invalid', {
      details: shown,
      validation: [{ product: null, schemaErrors: shown, errors: shown }],
    });
  }
  const { kind, description, constraint, source = EVERY_PRODUCT, target = EVERY_PRODUCT } = sent;
  const { twoWay = false, enabled = true, match = [], sort = [], names = [], excludeSameGroup = true } = sent;
  return {
    ...(kind !== undefined && { kind }),
    ...{ name: sent.name, tag: sent.tag, ...(description !== undefined && { description }) },
    ...{ twoWay, enabled, source: source as Filter, target: target as Filter },
    ...{ match, sort, names, excludeSameGroup, ...(constraint !== undefined && { constraint }) },
  };
}

const EVERY_PRODUCT: Filter = { all: [] };
const SIDES = ['source', 'target'] as const;

function listFilterErrors(sent: SentDefinition, path: string): string[] {
  return SIDES.flatMap((side) =>
    sent[side] === undefined
      ? [`${path} must have required properties '${side}'`.trimStart()]
      : checkFilter(`${path}/${side}`, sent[side]),
  );
}

/** @returns what a relation of links cannot have: its pairs and their order are chosen already */
function listRuleParts(sent: SentDefinition, path: string): string[] {
  const filters = SIDES.filter(
    (side) => JSON.stringify(sent[side] ?? EVERY_PRODUCT) !== JSON.stringify(EVERY_PRODUCT),
  );
  const lists = (['match', 'sort'] as const).filter((part) => (sent[part] ?? []).length > 0);
  return [
    ...filters.map((side) => `${path}/${side} must be left out or {"all":[]} in a relation of links`),
    ...lists.map((part) => `${path}/${part} must be left out or [] in a relation of links`),
  ];
}
