import {
  type Comparable,
  type ComparedAttribute,
  compareValues,
  type Operator,
} from '../../catalog/filters/filters.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import {
  attributeOf,
  type CompiledElement,
  type CompiledMatch,
  type CompiledRule,
  compiledOf,
  listRows,
  type ReadValues,
} from '../rules/rules.ts';

/**
 * How the join index represents a rule with alternatives, rows or missing values that pass. A branch is the
 * rule with one choice of its alternatives. A product has an entry for each combination of its values. Its
 * key also says which values are missing, so that a search knows the assumptions of its results. Conditions
 * that the index cannot express are judged by the stored values. Pure.
 */
export interface RuleIndex {
  readonly rule: CompiledRule;
  readonly branches: readonly Branch[];
  /** The number of columns in an entry. */
  readonly width: number;
  /** Whether every result of a search without assumptions holds. */
  readonly isExact: boolean;
  /** Whether a result may have assumptions that the keys do not show. */
  readonly hidesAssumptions: boolean;
  /** The attributes whose values are stored with a membership, in this order. */
  readonly attributes: Readonly<Record<Side, readonly ComparedAttribute[]>>;
}

/** The matches of a branch in factors: an independent match alone, the matches of one row together. */
interface Branch {
  readonly no: number;
  readonly factors: readonly (readonly CompiledMatch[])[];
  /** The slots of all factors. */
  readonly slots: readonly Slot[];
  /** The operators of the columns, read from the target. */
  readonly operators: readonly Operator[];
}

/**
 * `key`: the key has the value. `optional`: the key has the value or that it is missing, and an additional
 * entry stands for any value. A number: the value is in this column, for a comparison. `none`: the index does
 * not contain the match.
 */
interface Slot {
  readonly match: CompiledMatch;
  readonly position: 'key' | 'optional' | 'none' | number;
}

/**
 * The value of a match in an entry. Null stands for several values, because one of them always differs from
 * the compared value.
 */
type SlotValue = Comparable | null | undefined;

/** A row of the join index. */
export interface IndexEntry {
  readonly key: readonly Comparable[];
  readonly columns: readonly (Comparable | null)[];
}

/** A search on the other side. A column without a value accepts any value. */
export interface Probe extends IndexEntry {
  readonly operators: readonly Operator[];
}

/** The limit of branches; each branch multiplies the entries of a product. */
const MOST_BRANCHES = 16;
/**
 * How many missing values the keys distinguish besides the optional one. Each of them doubles the searches by
 * assumption.
 */
const MARKED_COLUMNS = 3;
/** The limit of entries. Further entries of a product are omitted, and health reports the product. */
export const ENTRIES_PER_PRODUCT = 2_000;

const planned = new WeakMap<CompiledRule, RuleIndex>();

/** @returns undefined for a rule that equalities and comparisons express completely */
export function planIndex(rule: CompiledRule): RuleIndex | undefined {
  return rule.isPlain ? undefined : planned.getOrInsertComputed(rule, createIndex);
}

function createIndex(rule: CompiledRule): RuleIndex {
  let choices: (readonly CompiledMatch[])[][] = [[]];
  const open: CompiledElement[] = [];
  for (const element of rule.elements) {
    const factors = 'any' in element ? element.any.map((match) => [match]) : [compiledOf(element)];
    if (choices.length * factors.length > MOST_BRANCHES) open.push(element);
    else choices = choices.flatMap((before) => factors.map((factor) => [...before, factor]));
  }
  const branches = choices.map(createBranch);
  const hidden = [
    ...open.flatMap(compiledOf),
    ...branches.flatMap(({ slots }) =>
      slots.filter(({ position }) => position === 'none').map(({ match }) => match),
    ),
  ];
  return {
    rule,
    branches,
    isExact: hidden.length === 0 && !branches.some(comparesRows),
    width: Math.max(...branches.map(({ operators }) => operators.length)),
    hidesAssumptions: hidden.some(({ passes }) => passes),
    attributes: { source: listOf(rule, 'source'), target: listOf(rule, 'target') },
  };
}

/**
 * Whether entries combine several rows with the same key. A search can then find products that do not
 * match.
 */
const comparesRows = ({ factors }: Branch) =>
  factors.some((factor) => factor.length > 1 && factor.some(({ operator }) => operator !== 'equals'));

const listOf = ({ matches }: CompiledRule, side: Side) => [
  ...new Set(matches.map((match) => attributeOf(match, side))),
];

/** The first columns are comparisons that an index seek can answer and that require a value. */
function createBranch(factors: readonly (readonly CompiledMatch[])[], no: number): Branch {
  const matches = factors.flat();
  const optional = matches.find(({ operator, passes }) => operator === 'equals' && passes);
  const weigh = ({ operator, passes }: CompiledMatch) => (passes ? 2 : 0) + Number(operator === 'notEquals');
  const compared = matches
    .filter(({ operator }) => operator !== 'equals')
    .sort((a, b) => weigh(a) - weigh(b));
  const strict = compared.filter(({ passes }) => !passes).length;
  const columns = compared.slice(0, strict + MARKED_COLUMNS);
  const positionOf = (match: CompiledMatch): Slot['position'] => {
    if (match === optional) return 'optional';
    if (match.operator === 'equals') return match.passes ? 'none' : 'key';
    const column = columns.indexOf(match);
    return column < 0 ? 'none' : column;
  };
  return {
    no,
    factors,
    slots: matches.map((match) => ({ match, position: positionOf(match) })),
    operators: columns.map(({ operator }) => operator),
  };
}

/** @returns the index entries of a product, without repeated keys */
export function listEntries({ branches }: RuleIndex, side: Side, read: ReadValues): IndexEntry[] {
  return branches
    .flatMap((branch) =>
      joinKeys(
        listSlotValues(branch, side, read).flatMap((slotValues) => describeEntries(branch, slotValues)),
        branch,
        side,
      ),
    )
    .slice(0, ENTRIES_PER_PRODUCT);
}

/** @returns the combinations of a value for each slot; none if a required value is missing */
function listSlotValues({ factors }: Branch, side: Side, read: ReadValues): SlotValue[][] {
  let combined: SlotValue[][] = [[]];
  for (const factor of factors) {
    const [only] = factor;
    const factorValues =
      factor.length === 1 ? listAlone(only as CompiledMatch, side, read) : listTogether(factor, side, read);
    combined = combined
      .flatMap((start) => factorValues.map((values) => [...start, ...values]))
      .slice(0, ENTRIES_PER_PRODUCT);
  }
  return combined;
}

function listAlone(match: CompiledMatch, side: Side, read: ReadValues): SlotValue[][] {
  const values = read(attributeOf(match, side)).map(({ comparable }) => comparable);
  if (values.length === 0) return match.passes ? [[undefined]] : [];
  if (match.operator === 'equals') return listKeyed(match, side, values).map((value) => [value]);
  return [[pickDecisive(values, match.operator, side) ?? null]];
}

function listTogether(matches: readonly CompiledMatch[], side: Side, read: ReadValues): SlotValue[][] {
  const isWhole = (row: readonly SlotValue[]) =>
    matches.every(({ passes }, index) => passes || row[index] !== undefined);
  const expand = (value: SlotValue, index: number): SlotValue[] =>
    value === undefined || value === null
      ? [value]
      : [...listKeyed(matches[index] as CompiledMatch, side, [value])];
  return listRows(matches, side, read)
    .filter(isWhole)
    .flatMap((row) =>
      row.reduce<SlotValue[][]>(
        (rows, value, index) =>
          rows.flatMap((start) => expand(value, index).map((expanded) => [...start, expanded])),
        [[]],
      ),
    );
}

/**
 * @returns the values that count as equal for the other side, without repetition. For the source they include
 * values of the table.
 */
export function listKeyed({ partners }: CompiledMatch, side: Side, values: readonly Comparable[]) {
  if (side === 'target' || partners === undefined) return values.length < 2 ? values : [...new Set(values)];
  return [...new Set(values.flatMap((value) => [value, ...(partners.get(value) ?? [])]))];
}

/** @returns the smallest value, or the largest if descending; undefined if there is none */
export function extremeOf(values: readonly Comparable[], direction: 'asc' | 'desc'): Comparable | undefined {
  let [best] = values;
  for (const value of values) {
    if (best === undefined) return undefined;
    const order = compareValues(value, best);
    if (direction === 'asc' ? order < 0 : order > 0) best = value;
  }
  return best;
}

/**
 * @returns the value with which a pair could hold most easily. Undefined for an inequality with several
 * values.
 */
export function pickDecisive(values: readonly Comparable[], operator: Operator, side: Side) {
  if (operator === 'notEquals') return new Set(values).size === 1 ? values[0] : undefined;
  const wantsLess = operator === 'less' || operator === 'lessOrEqual';
  return extremeOf(values, wantsLess === (side === 'target') ? 'asc' : 'desc');
}

/** The state of the optional match: `v` with a value, `m` if it is missing, `a` for any value. */
type State = 'v' | 'm' | 'a' | '';

function describeEntries(branch: Branch, slotValues: readonly SlotValue[]): IndexEntry[] {
  const { slots } = branch;
  const marks = slots
    .flatMap((slot, index) => (isMarked(slot) ? [slotValues[index] === undefined ? '0' : '1'] : []))
    .join('');
  const columns = listColumns(branch, slotValues);
  const optional = slots.findIndex(({ position }) => position === 'optional');
  const states: State[] = optional < 0 ? [''] : [slotValues[optional] === undefined ? 'm' : 'v', 'a'];
  return states.map((state) => ({ key: describeKey(branch, slotValues, `${state}${marks}`), columns }));
}

const isMarked = ({ match: { passes }, position }: Slot) => passes === true && typeof position === 'number';

const listColumns = ({ slots, operators }: Branch, slotValues: readonly SlotValue[]): (Comparable | null)[] =>
  operators.map((_, column) => slotValues[slots.findIndex(({ position }) => position === column)] ?? null);

/** @param pattern describes which values follow, so that no two keys coincide */
const describeKey = (
  { no, slots }: Branch,
  slotValues: readonly SlotValue[],
  pattern: string,
): Comparable[] => [
  `${no} ${pattern}`,
  ...slots.flatMap(({ position }, index) =>
    position === 'key' || (position === 'optional' && pattern.startsWith('v'))
      ? [slotValues[index] as Comparable]
      : [],
  ),
];

/** The searches for a product. */
export interface Probes {
  /** These searches find everything that holds without assumptions. */
  readonly strict: readonly Probe[];
  /** These searches find everything that holds by assumptions, and possibly more. */
  readonly loose: readonly Probe[];
}

/** @param side the side of the searching product; the probes search the opposite side */
export function listProbes(index: RuleIndex, side: Side, read: ReadValues): Probes {
  const strict: Probe[] = [];
  const loose: Probe[] = [];
  for (const branch of index.branches) {
    const probes = listSlotValues(branch, side, read).flatMap((slotValues) =>
      describeProbes(branch, slotValues),
    );
    // A row with all values and a row without one may have the same key. They stay separate, because a result
    // of one is not a result of the other.
    const { whole = [], assuming = [] } = Object.groupBy(probes, ({ isStrict }) =>
      isStrict ? 'whole' : 'assuming',
    );
    strict.push(...joinKeys(whole, branch, side));
    loose.push(...joinKeys(index.hidesAssumptions ? probes : assuming, branch, side));
  }
  return { strict, loose };
}

function describeProbes(branch: Branch, slotValues: readonly SlotValue[]): (Probe & { isStrict: boolean })[] {
  const { slots, operators } = branch;
  const optional = slots.findIndex(({ position }) => position === 'optional');
  const marked = slots.flatMap((slot, index) => (isMarked(slot) ? [index] : []));
  const isWhole = slots.every((_, index) => slotValues[index] !== undefined);
  const states = (optional < 0 ? [''] : slotValues[optional] === undefined ? ['a'] : ['v', 'm']) as State[];
  const columns = listColumns(branch, slotValues);
  // The patterns for two marks are '11', '10', '01' and '00'.
  const patterns = marked.reduce<string[]>((all) => all.flatMap((marks) => [`${marks}1`, `${marks}0`]), ['']);
  return states.flatMap((state) =>
    patterns.map((marks) => ({
      key: describeKey(branch, slotValues, `${state}${marks}`),
      // Without a value on the other side, the column is not compared.
      columns: columns.map((value, column) => {
        const mark = marked.findIndex((slotIndex) => slots[slotIndex]?.position === column);
        return marks[mark] === '0' ? null : value;
      }),
      operators,
      isStrict: isWhole && state !== 'm' && !marks.includes('0'),
    })),
  );
}

/** @returns one entry for each key, with columns with which any entry of that key could hold */
function joinKeys<Entry extends IndexEntry>(entries: readonly Entry[], { operators }: Branch, side: Side) {
  if (entries.length < 2) return [...entries];
  return [...Map.groupBy(entries, ({ key }) => JSON.stringify(key)).values()].map((same) => ({
    ...(same[0] as Entry),
    columns: operators.map((operator, column) => {
      const values = same.flatMap(({ columns }) => columns[column] ?? []);
      return values.length < same.length ? null : (pickDecisive(values, operator, side) ?? null);
    }),
  }));
}
