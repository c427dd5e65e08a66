import {
  areComparable,
  type ComparedAttribute,
  ComparisonProblem,
  compileFilter,
  describeAttribute,
  type Operator,
  OWN,
  type OwnField,
  type ProductTest,
  toCompared,
} from '../../catalog/filters/filters.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import type { Match, MatchedValue, RelationRule, Side } from './relation.ts';

/**
 * A rule with the attributes as they were when it was compiled. It always derives the same from the same upload,
 * whatever happens to the ontology, so nothing has to be derived again.
 */
export interface BoundRule {
  readonly rule: RelationRule;
  readonly attributes: readonly ComparedAttribute[];
}

/** @returns the rule with its attributes, or why it cannot work (docs/interface.md §12.4) */
export function bindRule(
  rule: RelationRule,
  attributes: readonly Attribute[],
): { readonly bound: BoundRule } | { readonly problem: string } {
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const used = new Map<string, ComparedAttribute>();
  const keys = listKeys(attributes);
  const find = (name: string) => {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new ComparisonProblem(`there is no attribute ${JSON.stringify(name)}`);
    const known = used.get(name) ?? toCompared(attribute, keys.get(attribute.id) ?? []);
    used.set(name, known);
    return known;
  };
  const findMatched = (value: MatchedValue) => {
    const own = ownOf(value, byName);
    return own ?? find(value as string);
  };
  try {
    compileWith(rule, find, findMatched);
  } catch (error) {
    if (error instanceof ComparisonProblem) return { problem: error.message };
    throw error;
  }
  return { bound: { rule, attributes: [...used.values()] } };
}

function listKeys(attributes: readonly Attribute[]): Map<number, string[]> {
  const keys = new Map<number, string[]>();
  for (const [key, { id }] of indexByKey(attributes)) keys.set(id, [...(keys.get(id) ?? []), key]);
  return keys;
}

/** The join index has a column for each. */
export const COMPARISONS_PER_RULE = 8;

/** A match between attributes, read from the target. */
export interface CompiledMatch {
  readonly target: ComparedAttribute;
  readonly operator: Operator;
  readonly source: ComparedAttribute;
}

export interface CompiledSort {
  readonly attribute: ComparedAttribute;
  readonly direction: 'asc' | 'desc';
}

export interface CompiledRule {
  readonly isOn: Readonly<Record<Side, ProductTest>>;
  /** As written. */
  readonly matches: readonly CompiledMatch[];
  readonly equalities: readonly CompiledMatch[];
  /** All others; those that an index seek can answer come first. */
  readonly comparisons: readonly CompiledMatch[];
  readonly sort: readonly CompiledSort[];
}

export function compileRule({ rule, attributes }: BoundRule): CompiledRule {
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const find = (name: string) => {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new Error(`the rule was bound without the attribute ${name}`);
    return attribute;
  };
  return compileWith(rule, find, (value) => ownOf(value, byName) ?? find(value as string));
}

/** @returns the field of a product that is meant; an attribute of that name goes first where only the name is given */
function ownOf(value: MatchedValue, attributes: ReadonlyMap<string, unknown>): ComparedAttribute | undefined {
  if (typeof value !== 'string') return OWN[value.field];
  return attributes.has(value) || !Object.hasOwn(OWN, value) ? undefined : OWN[value as OwnField];
}

function compileWith(
  rule: RelationRule,
  find: (name: string) => ComparedAttribute,
  findMatched: (value: MatchedValue) => ComparedAttribute,
): CompiledRule {
  const matches = rule.match.map((match) => compileMatch(match, findMatched));
  const of = (...operators: Operator[]) => matches.filter(({ operator }) => operators.includes(operator));
  const comparisons = [...of('less', 'lessOrEqual', 'greater', 'greaterOrEqual'), ...of('notEquals')];
  if (comparisons.length > COMPARISONS_PER_RULE) {
    throw new ComparisonProblem(
      `${comparisons.length} matches compare other than by equals, at most ${COMPARISONS_PER_RULE} can`,
    );
  }
  return {
    isOn: { source: compileFilter(rule.source, find), target: compileFilter(rule.target, find) },
    matches,
    equalities: of('equals'),
    comparisons,
    sort: rule.sort.map(({ attribute, direction }) => ({ attribute: find(attribute), direction })),
  };
}

function compileMatch(
  { target, operator, source }: Match,
  find: (value: MatchedValue) => ComparedAttribute,
): CompiledMatch {
  const [ofTarget, ofSource] = [find(target), find(source)];
  if (areComparable(ofTarget, ofSource)) return { target: ofTarget, operator, source: ofSource };
  throw new ComparisonProblem(
    `${describeAttribute(ofTarget)} and ${describeAttribute(ofSource)}: they cannot be compared`,
  );
}

export const attributeOf = (match: CompiledMatch, side: Side) =>
  side === 'source' ? match.source : match.target;
