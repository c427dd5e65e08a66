import {
  areComparable,
  type Comparable,
  type ComparedAttribute,
  ComparisonProblem,
  compileFilter,
  compute,
  describeAttribute,
  type FindAttribute,
  type Operator,
  OWN,
  type OwnField,
  type ProductTest,
  readOperand,
  toCompared,
} from '../../catalog/filters/filters.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import {
  COMPARISONS_PER_RULE,
  type Match,
  type MatchElement,
  type MatchedValue,
  matchesOf,
  type RelationRule,
  type Side,
  type ValueTable,
} from '../relation-definitions/relation-definitions.ts';

/**
 * A rule with the attributes and tables that existed when it was bound. It always derives the same from the
 * same upload, even after the ontology changes, so nothing has to be derived again.
 */
export interface BoundRule {
  readonly rule: RelationRule;
  readonly attributes: readonly ComparedAttribute[];
  /** The tables that the rule names, in their state at that time. */
  readonly tables?: readonly ValueTable[];
}

/** @returns the names of the tables that a rule uses, without repetition */
export const listTables = ({ match }: Pick<RelationRule, 'match'>): string[] => [
  ...new Set(match.flatMap(matchesOf).flatMap(({ table }) => table ?? [])),
];

/**
 * @param tables the existing tables, or at least the tables that the rule names
 * @returns the rule with its attributes, or why it cannot work (docs/interface §12.4)
 */
export function bindRule(
  rule: RelationRule,
  attributes: readonly Attribute[],
  tables: readonly ValueTable[] = [],
): { readonly bound: BoundRule } | { readonly problem: string } {
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const used = new Map<string, ComparedAttribute>();
  const keys = listKeys(attributes);
  const find = (name: string) => {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new ComparisonProblem(`there is no attribute ${JSON.stringify(name)}`);
    return used.getOrInsertComputed(name, () => toCompared(attribute, keys.get(attribute.id) ?? []));
  };
  const named = new Set(listTables(rule));
  const bound = tables.filter(({ name }) => named.has(name));
  try {
    compileWith(rule, { find, byName, tables: bound });
  } catch (error) {
    if (error instanceof ComparisonProblem) return { problem: error.message };
    throw error;
  }
  return { bound: { rule, attributes: [...used.values()], ...(bound.length > 0 && { tables: bound }) } };
}

/** @returns the upload keys of each attribute, by its id */
export function listKeys(attributes: readonly Attribute[]): Map<number, string[]> {
  const keys = new Map<number, string[]>();
  for (const [key, { id }] of indexByKey(attributes)) keys.getOrInsert(id, []).push(key);
  return keys;
}

/** A match between two attributes, read from the target. */
export interface CompiledMatch {
  readonly target: ComparedAttribute;
  readonly operator: Operator;
  readonly source: ComparedAttribute;
  /** Whether the match holds if a side has no value. */
  readonly passes?: true;
  /** For each value of the source, the values of the target that the table pairs with it. */
  readonly partners?: ReadonlyMap<Comparable, readonly Comparable[]>;
  /** The table with these pairs. */
  readonly table?: ValueTable;
}

/** An element of a rule in its written form. */
export type CompiledElement =
  | CompiledMatch
  | { readonly any: readonly CompiledMatch[] }
  | { readonly together: readonly CompiledMatch[] };

/** @returns the matches of an element; a match is an element too */
export function compiledOf(element: CompiledElement): readonly CompiledMatch[] {
  if ('any' in element) return element.any;
  return 'together' in element ? element.together : [element];
}

export interface CompiledRule {
  readonly isOn: Readonly<Record<Side, ProductTest>>;
  readonly elements: readonly CompiledElement[];
  /** All matches of the elements, in the order of the rule. */
  readonly matches: readonly CompiledMatch[];
  /**
   * Whether the elements are single matches that fail without a value. Equalities and comparisons then
   * express the whole rule.
   */
  readonly isPlain: boolean;
  readonly equalities: readonly CompiledMatch[];
  /** All other matches. The first are matches that an index seek can answer. */
  readonly comparisons: readonly CompiledMatch[];
  /** The operators of the comparisons. */
  readonly operators: readonly Operator[];
  readonly sort: readonly { readonly attribute: ComparedAttribute; readonly direction: 'asc' | 'desc' }[];
}

const compiled = new WeakMap<BoundRule, CompiledRule>();

export function compileRule(bound: BoundRule): CompiledRule {
  return compiled.getOrInsertComputed(bound, ({ rule, attributes, tables = [] }) => {
    const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
    return compileWith(rule, { find: finderOf(bound), byName, tables });
  });
}

/** @returns a function that finds an attribute of the bound rule by its name */
export function finderOf({ attributes }: Pick<BoundRule, 'attributes'>): FindAttribute {
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  return (name) => {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new Error(`the rule was bound without the attribute ${name}`);
    return attribute;
  };
}

interface RuleNames {
  readonly find: FindAttribute;
  readonly byName: ReadonlyMap<string, unknown>;
  readonly tables: readonly ValueTable[];
}

function compileWith(rule: RelationRule, names: RuleNames): CompiledRule {
  const { find } = names;
  const elements = rule.match.map((element, index) => compileElement(`match/${index}`, element, names));
  const matches = elements.flatMap(compiledOf);
  const of = (...operators: Operator[]) => matches.filter(({ operator }) => operators.includes(operator));
  const comparisons = [...of('less', 'lessOrEqual', 'greater', 'greaterOrEqual'), ...of('notEquals')];
  if (comparisons.length > COMPARISONS_PER_RULE) {
    throw new ComparisonProblem(
      `${comparisons.length} matches have other operators than equals, but at most ${COMPARISONS_PER_RULE} may`,
    );
  }
  return {
    isOn: { source: compileFilter(rule.source, find), target: compileFilter(rule.target, find) },
    elements,
    matches,
    isPlain: elements.every((element) => 'operator' in element && element.passes === undefined),
    equalities: of('equals'),
    comparisons,
    operators: comparisons.map(({ operator }) => operator),
    sort: rule.sort.map(({ attribute, direction }) => ({ attribute: find(attribute), direction })),
  };
}

function compileElement(path: string, element: MatchElement, names: RuleNames): CompiledElement {
  const compile = (list: 'any' | 'together') => (match: Match, index: number) =>
    locate(`${path}/${list}/${index}`, () => compileMatch(match, names, true));
  if ('any' in element) return { any: element.any.map(compile('any')) };
  if ('together' in element) return { together: element.together.map(compile('together')) };
  return compileMatch(element, names);
}

/** @throws ComparisonProblem whose message begins with the path */
function locate<Result>(path: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ComparisonProblem)) throw error;
    const isWithin = error.message.startsWith('/');
    throw new ComparisonProblem(`${path}${isWithin ? '' : ': '}${error.message}`);
  }
}

/** @param isInner true for a match within a list, where the problem of a side begins with the side's name */
function compileMatch(
  { target, operator, source, missing, table }: Match,
  names: RuleNames,
  isInner = false,
): CompiledMatch {
  const find = (side: Side, value: MatchedValue) =>
    isInner ? locate(`/${side}`, () => findMatched(value, names)) : findMatched(value, names);
  const [ofTarget, ofSource] = [find('target', target), find('source', source)];
  if (!areComparable(ofTarget, ofSource)) {
    throw new ComparisonProblem(
      `${describeAttribute(ofTarget)} and ${describeAttribute(ofSource)}: they cannot be compared`,
    );
  }
  const sides = { target: ofTarget, source: ofSource };
  return {
    target: ofTarget,
    operator,
    source: ofSource,
    ...(missing === 'passes' && { passes: true }),
    ...(table !== undefined && readPartners(table, sides, names)),
  };
}

/**
 * An attribute takes precedence over a field of the same name.
 * @throws ComparisonProblem if the value cannot be computed
 */
function findMatched(value: MatchedValue, { find, byName }: RuleNames): ComparedAttribute {
  if (typeof value === 'string')
    return byName.has(value) || !Object.hasOwn(OWN, value) ? find(value) : OWN[value as OwnField];
  if ('field' in value) return OWN[value.field];
  const result = compute(find(value.attribute), value);
  if ('problem' in result) throw new ComparisonProblem(result.problem);
  return result.computed;
}

/** Table values are compared without the computation, because a table contains results. */
export const withoutTerm = ({ term: _, ...attribute }: ComparedAttribute): ComparedAttribute => attribute;

/** Ignores a pair with a value that its attribute cannot have. */
function readPartners(
  name: string,
  { source, target }: Readonly<Record<Side, ComparedAttribute>>,
  { tables }: RuleNames,
): Required<Pick<CompiledMatch, 'partners' | 'table'>> {
  const table = tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new ComparisonProblem(`there is no table ${JSON.stringify(name)}`);
  const [ofSource, ofTarget] = [withoutTerm(source), withoutTerm(target)];
  const partners = new Map<Comparable, Comparable[]>();
  for (const [from, to] of table.pairs) {
    const [key, value] = [readOperand(from, ofSource), readOperand(to, ofTarget)];
    if (key !== undefined && value !== undefined) partners.getOrInsert(key, []).push(value);
  }
  return { partners, table };
}

export const attributeOf = (match: CompiledMatch, side: Side) =>
  side === 'source' ? match.source : match.target;
