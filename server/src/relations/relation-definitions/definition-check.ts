import { checkFilter, type Filter } from '../../catalog/filters/filters.ts';
import type { Sent } from '../../http/server/server.ts';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { COMPARISONS_PER_RULE, matchesOf, SIDES } from './relation.ts';
import type { Match, MatchElement, RelationDefinition, SentRelation } from './relation-schemas.ts';

/**
 * Checks whether a definition can be stored. Whether it works with the ontology is checked later
 * (`rules/rule.ts`). Source: docs/interface §12.1.
 */

const MATCHES = 16;
/** Elements that contain matches, with the smallest and the largest number of matches. */
const LISTS = { any: [2, 8], together: [2, 6] } as const;

/** Beyond these limits, a definition could not work with any ontology. */
function checkMatches(path: string, match: readonly MatchElement[]): string[] {
  const errors = match.flatMap((element, index) => checkElement(`${path}/${index}`, element));
  if (errors.length > 0) return errors;
  const matches = match.flatMap(matchesOf);
  const compared = matches.filter(({ operator }) => operator !== 'equals').length;
  if (matches.length > MATCHES)
    errors.push(`${path} has ${matches.length} matches, but at most ${MATCHES} are possible`);
  if (compared > COMPARISONS_PER_RULE)
    errors.push(
      `${path} has ${compared} matches other than equals, but at most ${COMPARISONS_PER_RULE} are possible`,
    );
  return errors;
}

function checkElement(path: string, element: MatchElement): string[] {
  const list = (['any', 'together'] as const).find((name) => name in element);
  if (list === undefined) return checkMatch(path, element as Match);
  const others = Object.keys(element).filter((name) => name !== list);
  if (others.length > 0)
    return [
      `${path} must be a match, {"any":[…]} or {"together":[…]}, but has ${[list, ...others].join(', ')}`,
    ];
  const matches = matchesOf(element);
  const [least, most] = LISTS[list];
  if (matches.length < least || matches.length > most)
    return [`${path}/${list} must have ${least} to ${most} matches, but has ${matches.length}`];
  return matches.flatMap((match, index) => checkMatch(`${path}/${list}/${index}`, match));
}

function checkMatch(path: string, match: Match): string[] {
  const absent = (['target', 'operator', 'source'] as const).filter((name) => match[name] === undefined);
  if (absent.length > 0) return [`${path} must have required properties ${absent.join(', ')}`];
  const errors = SIDES.flatMap((side) => checkValue(`${path}/${side}`, match[side]));
  if (match.table !== undefined && match.operator !== 'equals')
    errors.push(`${path}/table is only possible with equals, not with ${match.operator}`);
  return errors;
}

function checkValue(path: string, value: Match['source']): string[] {
  if (typeof value === 'string') return [];
  const names = Object.keys(value);
  const isField = 'field' in value && names.length === 1;
  return isField || ('attribute' in value && !('field' in value))
    ? []
    : [`${path} must be a name, {"field"} or {"attribute","times"?,"plus"?}`];
}

/**
 * @param path the path of the definition within the body
 * @returns the definition with its defaults
 * @throws request_invalid that names every mistake
 */
export function checkDefinition(sent: Sent<SentRelation>, path = ''): RelationDefinition {
  const errors = [...CHECKS[sent.kind ?? 'rule'](sent, path), ...checkTotal(sent, path)];
  if (errors.length > 0) {
    const shown = boundLines(errors, { most: 20, bytes: 8 * 1024 });
    throw new ServiceError('request_invalid', {
      details: shown,
      validation: [{ product: null, schemaErrors: shown, errors: shown }],
    });
  }
  const { kind, description, constraint, total, operator, limit } = sent;
  const { source = EVERY_PRODUCT, target = EVERY_PRODUCT } = sent;
  const { twoWay = false, enabled = true, match = [], sort = [], names = [], excludeSameGroup = true } = sent;
  return {
    ...(kind !== undefined && { kind }),
    name: sent.name,
    tag: sent.tag,
    ...(description !== undefined && { description }),
    twoWay,
    enabled,
    source,
    target,
    match,
    sort,
    names,
    excludeSameGroup,
    ...(constraint !== undefined && { constraint }),
    ...(total && { total }),
    ...(operator && { operator }),
    ...(limit && { limit }),
  };
}

const CHECKS: Readonly<
  Record<NonNullable<SentRelation['kind']>, (sent: Sent<SentRelation>, path: string) => string[]>
> = {
  rule: (sent, path) => [...listFilterErrors(sent, path), ...checkMatches(`${path}/match`, sent.match ?? [])],
  links: listRuleParts,
  total: (sent, path) => [
    ...listFilterErrors(sent, path),
    ...listRuleLists(sent, path, 'total'),
    ...(sent.twoWay ? [`${path}/twoWay must be left out or false in a relation of totals`] : []),
    ...(sent.constraint === false
      ? [`${path}/constraint must be left out or true in a relation of totals`]
      : []),
  ],
};

const TOTAL_PARTS = ['total', 'operator', 'limit'] as const;

/** A total must have all of these parts, and no other kind may have any. */
function checkTotal(sent: Sent<SentRelation>, path: string): string[] {
  const isTotal = sent.kind === 'total';
  return TOTAL_PARTS.filter((part) => (sent[part] !== undefined) !== isTotal).map((part) =>
    isTotal
      ? `${path} must have required properties '${part}'`.trimStart()
      : `${path}/${part} must be left out except in a relation of the kind total`,
  );
}

const EVERY_PRODUCT: Filter = { all: [] };

function listFilterErrors(sent: Sent<SentRelation>, path: string): string[] {
  return SIDES.flatMap((side) =>
    sent[side] === undefined
      ? [`${path} must have required properties '${side}'`.trimStart()]
      : checkFilter(`${path}/${side}`, sent[side]),
  );
}

/**
 * @returns the parts that a relation of links must not have, because its list decides the pairs and their
 * order
 */
function listRuleParts(sent: Sent<SentRelation>, path: string): string[] {
  const filters = SIDES.filter(
    (side) => JSON.stringify(sent[side] ?? EVERY_PRODUCT) !== JSON.stringify(EVERY_PRODUCT),
  );
  return [
    ...filters.map((side) => `${path}/${side} must be left out or {"all":[]} in a relation of links`),
    // A list of links is not a constraint, because it has no verdict on pairs that it does not list.
    ...(sent.constraint ? [`${path}/constraint must be left out or false in a relation of links`] : []),
    ...listRuleLists(sent, path, 'link'),
  ];
}

const listRuleLists = (sent: Sent<SentRelation>, path: string, kind: 'link' | 'total') =>
  (['match', 'sort'] as const)
    .filter((part) => (sent[part] ?? []).length > 0)
    .map((part) => `${path}/${part} must be left out or [] in a relation of ${kind}s`);
