/**
 * A second implementation of the rules of relations, as simple as possible: for a product, check every product of the
 * other side. It shares no code with the service. Source: docs/interface §4.8, §11.3, §11.7, §12.
 */

/** The upload form of §2.3 with the integer id of the product. */
export interface OracleProduct {
  readonly id: number;
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly categories?: readonly { readonly path: readonly string[] }[];
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: string;
    readonly row?: string | number | null;
  }[];
}

export interface OracleAttribute {
  readonly name: string;
  readonly type: string;
  readonly unitName?: string;
  readonly decimal?: 'point' | 'comma';
}

export type Comparison = 'equals' | 'notEquals' | 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual';

export interface Condition {
  readonly attribute: string;
  readonly operator: Comparison | 'in' | 'contains' | 'exists' | 'between';
  readonly value?: unknown;
}

export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly category: readonly string[] }
  | { readonly identifiers: readonly string[] }
  | Condition;

/** An attribute, or a value computed from it: first times, then plus. */
export type MatchedSide =
  | string
  | { readonly attribute: string; readonly times?: number; readonly plus?: number | string };

export interface Match {
  readonly target: MatchedSide;
  readonly operator: Comparison;
  readonly source: MatchedSide;
  readonly missing?: 'fails' | 'passes';
  readonly table?: string;
}

export type Element = Match | { readonly any: readonly Match[] } | { readonly together: readonly Match[] };

/** Pairs of a value of the source and one of the target. */
export type Tables = Readonly<Record<string, readonly (readonly [string, string])[]>>;

export interface Sort {
  readonly attribute: string;
  readonly direction: 'asc' | 'desc';
}

/** The form of §12.1. */
export interface Definition {
  readonly name: string;
  readonly tag: string;
  readonly twoWay: boolean;
  readonly enabled: boolean;
  readonly source: Filter;
  readonly target: Filter;
  readonly match: readonly Element[];
  readonly sort: readonly Sort[];
  readonly names: readonly { readonly locale: string; readonly name: string }[];
  /** Default true. */
  readonly excludeSameGroup?: boolean;
}

/** The related products, as identifiers. */
export interface Related {
  readonly matchType: 'FIRST_WAY' | 'SECOND_WAY';
  /** All related groups with the best group first, and in each group the best variant first. */
  readonly groups: readonly (readonly string[])[];
}

type Value = string | number | boolean | bigint;

/** Some units of the table (§11.7), as multiples of the smallest unit. */
const UNITS: Readonly<Record<string, readonly [dimension: string, parts: bigint]>> = {
  mm: ['length', 10n],
  cm: ['length', 100n],
  m: ['length', 10_000n],
  in: ['length', 254n],
  INCH: ['length', 254n],
  Zoll: ['length', 254n],
  '"': ['length', 254n],
  Hz: ['frequency', 1n],
  kHz: ['frequency', 1_000n],
  MHz: ['frequency', 1_000_000n],
  GHz: ['frequency', 10n ** 9n],
  MB: ['size', 10n ** 6n],
  GB: ['size', 10n ** 9n],
  TB: ['size', 10n ** 12n],
  g: ['mass', 1n],
  kg: ['mass', 1_000n],
  ns: ['time', 1n],
  ms: ['time', 1_000_000n],
};
/** No number here has more decimals. */
const DECIMALS = 30;

/** @returns the exact number as a multiple of the smallest unit */
function countParts(number: string, unit: string): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(number) ?? [];
  const shift = DECIMALS - fraction.length + Number(exponent);
  return BigInt(`${sign}${whole}${fraction}`) * (UNITS[unit]?.[1] ?? 1n) * 10n ** BigInt(shift);
}

const DECIMAL = /^\+?(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i;
const isOfDimension = (a: string, b: string) =>
  a === b || (UNITS[a] !== undefined && UNITS[a]?.[0] === UNITS[b]?.[0]);
const isSameUnit = (a: string, b: string) =>
  a === b || (isOfDimension(a, b) && UNITS[a]?.[1] === UNITS[b]?.[1]);

/** A product with its values as the ontology reads them. */
interface Entry {
  readonly product: OracleProduct;
  readonly group: string;
  readonly values: ReadonlyMap<string, readonly RowedValue[]>;
}

/** A value and its row in the product. */
interface RowedValue {
  readonly value: Value;
  readonly row: string | undefined;
}

/** An entry with the values of its side for each element's matches. */
interface Candidate {
  readonly entry: Entry;
  readonly matched: readonly (readonly (readonly RowedValue[])[])[];
}

/** The match of a pair: none, assumed for missing values, or by its values. */
type Fit = 'no' | 'assumed' | 'sure';

const POINT_NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const COMMA_NUMBER = /^[+-]?(\d+(,\d*)?|,\d+)(e[+-]?\d+)?$/i;

const COMPARISONS: Record<Comparison, (a: Value, b: Value) => boolean> = {
  equals: (a, b) => a === b,
  notEquals: (a, b) => a !== b,
  less: (a, b) => a < b,
  lessOrEqual: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greaterOrEqual: (a, b) => a >= b,
};

/** A catalog at one moment, under one ontology. */
export class RelationOracle {
  private readonly ontology: ReadonlyMap<string, OracleAttribute>;
  private readonly entries: readonly Entry[];
  private readonly tables: Tables;

  constructor(
    products: readonly OracleProduct[],
    attributes: readonly OracleAttribute[],
    tables: Tables = {},
  ) {
    this.tables = tables;
    this.ontology = new Map(attributes.map((attribute) => [attribute.name, attribute]));
    this.entries = products.map((product) => ({
      product,
      group: product.groupIdentifier ?? product.identifier,
      values: this.readValues(product),
    }));
  }

  /**
   * @returns a function that answers for any identifier, even an unknown one. It answers undefined if the target side
   * has no products, because answers then omit the relation (§4.8 rule 5).
   */
  relate(definition: Definition): ((identifier: string) => Related) | undefined {
    const { twoWay } = definition;
    const sources = this.listSide(definition, 'source');
    const targets = this.listSide(definition, 'target');
    if (targets.length === 0) return undefined;
    const sourceOf = new Map(sources.map((candidate) => [candidate.entry.product.identifier, candidate]));
    const targetOf = new Map(targets.map((candidate) => [candidate.entry.product.identifier, candidate]));
    const fit = (target: Candidate, source: Candidate): Fit =>
      isApart(target.entry, source.entry, definition) ? this.fit(definition, target, source) : 'no';
    // Matches without assumptions come first.
    const filter = (candidates: readonly Candidate[], fitOf: (candidate: Candidate) => Fit) => {
      const judged = candidates.map((candidate) => [candidate, fitOf(candidate)] as const);
      return (['sure', 'assumed'] as const).flatMap((wanted) =>
        judged.filter(([, fit]) => fit === wanted).map(([candidate]) => candidate),
      );
    };

    return (identifier) => {
      const asSource = sourceOf.get(identifier);
      const forward = asSource ? filter(targets, (target) => fit(target, asSource)) : [];
      if (forward.length > 0) return { matchType: 'FIRST_WAY', groups: groupBy(forward) };
      const asTarget = twoWay ? targetOf.get(identifier) : undefined;
      const backward = asTarget ? filter(sources, (source) => fit(asTarget, source)) : [];
      if (backward.length > 0) return { matchType: 'SECOND_WAY', groups: groupBy(backward) };
      return { matchType: 'FIRST_WAY', groups: [] };
    };
  }

  /** Source: docs/interface §12.3. */
  private fit({ match }: Definition, target: Candidate, source: Candidate): Fit {
    return leastOf(
      match.map((element, index) => {
        const [targets = [], sources = []] = [target.matched[index], source.matched[index]];
        const fitOf = (element: Match, no: number) =>
          this.fitMatch(element, targets[no] ?? [], sources[no] ?? []);
        if ('any' in element) return greatestOf(element.any.map(fitOf));
        if ('together' in element) return this.fitRows(element.together, targets, sources);
        return fitOf(element, 0);
      }),
    );
  }

  /** One matching pair of values is sufficient (§12.2 rule 9). */
  private fitMatch(match: Match, targets: readonly RowedValue[], sources: readonly RowedValue[]): Fit {
    if (targets.length === 0 || sources.length === 0) return match.missing === 'passes' ? 'assumed' : 'no';
    const pairs = targets.flatMap((target) => sources.map((source) => [target.value, source.value] as const));
    const holds = pairs.some(
      ([target, source]) =>
        COMPARISONS[match.operator](target, source) || this.isInTable(match, target, source),
    );
    return holds ? 'sure' : 'no';
  }

  private isInTable({ table = '', ...match }: Match, target: Value, source: Value): boolean {
    const [ofTarget, ofSource] = [match.target, match.source].map((side) =>
      this.ontology.get(typeof side === 'string' ? side : side.attribute),
    );
    return (this.tables[table] ?? []).some(
      ([from, to]) => readWanted(from, ofSource) === source && readWanted(to, ofTarget) === target,
    );
  }

  /** One row of the target satisfies all matches with one row of the source. */
  private fitRows(
    matches: readonly Match[],
    targets: readonly (readonly RowedValue[])[],
    sources: readonly (readonly RowedValue[])[],
  ): Fit {
    const [ofTarget, ofSource] = [listRows(matches, 'target', targets), listRows(matches, 'source', sources)];
    return greatestOf(
      ofTarget.flatMap((target) =>
        ofSource.map((source) =>
          leastOf(
            matches.map((match, index) => this.fitMatch(match, target[index] ?? [], source[index] ?? [])),
          ),
        ),
      ),
    );
  }

  /** @returns the products of a side in the definition's sort order, the same for every product */
  private listSide(definition: Definition, side: 'source' | 'target'): Candidate[] {
    return this.entries
      .filter((entry) => this.holds(definition[side], entry))
      .sort((a, b) => compareEntries(a, b, definition.sort))
      .map((entry) => ({
        entry,
        matched: definition.match.map((element) =>
          matchesOf(element).map((match) => this.computeValues(entry, match[side])),
        ),
      }));
  }

  private readValues({ attributes = [] }: OracleProduct): Map<string, RowedValue[]> {
    const values = new Map<string, RowedValue[]>();
    for (const { key, value: text, row } of attributes) {
      const attribute = this.ontology.get(key);
      const value = attribute && readValue(text, attribute);
      if (value === undefined) continue;
      const rowed = { value, row: row === undefined || row === null ? undefined : String(row) };
      values.set(key, [...(values.get(key) ?? []), rowed]);
    }
    return values;
  }

  /** First times, then plus: a number in the attribute's unit, or with a unit of its dimension. */
  private computeValues(entry: Entry, side: MatchedSide): readonly RowedValue[] {
    if (typeof side === 'string') return entry.values.get(side) ?? [];
    const { attribute, times = 1, plus = 0 } = side;
    const added = readWanted(plus, this.ontology.get(attribute)) as bigint;
    const factor = countParts(String(times), '');
    return (entry.values.get(attribute) ?? []).map(({ value, row }) => ({
      value: ((value as bigint) * factor) / 10n ** BigInt(DECIMALS) + added,
      row,
    }));
  }

  /** Source: docs/interface §12.2 rule 1. */
  private holds(filter: Filter, entry: Entry): boolean {
    if ('all' in filter) return filter.all.every((filter) => this.holds(filter, entry));
    if ('any' in filter) return filter.any.some((filter) => this.holds(filter, entry));
    if ('not' in filter) return !this.holds(filter.not, entry);
    if ('identifiers' in filter) return filter.identifiers.includes(entry.product.identifier);
    if ('attribute' in filter) return this.isSatisfied(filter, entry);
    const { categories = [] } = entry.product;
    return categories.some(({ path }) => filter.category.every((name, index) => path[index] === name));
  }

  /** Source: docs/interface §12.2 rules 4 to 9. */
  private isSatisfied({ attribute: name, operator, value: wanted }: Condition, entry: Entry): boolean {
    const attribute = this.ontology.get(name);
    const read = (operand: unknown) => readWanted(operand, attribute);
    const list = Array.isArray(wanted) ? wanted.map(read) : [];
    const [low = Number.NaN, high = Number.NaN] = list;
    return valuesOf(entry, name).some((value) => {
      switch (operator) {
        case 'exists':
          return true;
        case 'in':
          return list.includes(value);
        case 'between':
          return value >= low && value <= high;
        case 'contains':
          return String(value).toLowerCase().includes(String(wanted).toLowerCase());
        default:
          return COMPARISONS[operator](value, read(wanted));
      }
    });
  }
}

/** @returns the value as its attribute reads it, or undefined if it does not fit (§11.3) */
function readValue(text: string, { type, unitName = '', decimal }: OracleAttribute): Value | undefined {
  if (type === 'BOOLEAN_ATTRIBUTE') {
    const word = text.toLowerCase();
    return word === 'true' || word === 'false' ? word === 'true' : undefined;
  }
  if (type !== 'NUMERIC_ATTRIBUTE') return text.trim() === '' ? undefined : text;
  if (!isSameUnit(unitOf(text), unitName)) return undefined;
  const number = numberOf(text);
  const isNumber = (decimal === 'comma' ? COMMA_NUMBER : POINT_NUMBER).test(number);
  return isNumber ? countParts(number.replace(',', '.'), unitName) : undefined;
}

const numberOf = (text: string) => text.split(' ')[0] ?? '';
const unitOf = (text: string) => text.slice(numberOf(text).length + 1);

/** A filter's value: a number in the attribute's unit, or with a unit of its dimension (§12.2 rule 6). */
function readWanted(wanted: unknown, attribute: OracleAttribute | undefined): Value {
  const { type, unitName = '' } = attribute ?? {};
  if (type !== 'NUMERIC_ATTRIBUTE') {
    const read = typeof wanted === 'string' && attribute ? readValue(wanted, attribute) : (wanted as Value);
    return read ?? Number.NaN;
  }
  if (typeof wanted === 'number') return countParts(String(wanted), unitName);
  const text = String(wanted);
  return isOfDimension(unitOf(text), unitName)
    ? countParts(numberOf(text).replace(',', '.'), unitOf(text))
    : Number.NaN;
}

function valuesOf(entry: Entry, attribute: string): readonly Value[] {
  return (entry.values.get(attribute) ?? []).map(({ value }) => value);
}

function matchesOf(element: Element): readonly Match[] {
  if ('any' in element) return element.any;
  return 'together' in element ? element.together : [element];
}

const FITS: readonly Fit[] = ['no', 'assumed', 'sure'];
const leastOf = (fits: readonly Fit[]): Fit => FITS.find((fit) => fits.includes(fit)) ?? 'sure';
const greatestOf = (fits: readonly Fit[]): Fit => FITS.findLast((fit) => fits.includes(fit)) ?? 'no';

/**
 * @returns for each row of a product the values for each match, one attribute at a time: those of the row and those
 * without a row
 */
function listRows(
  matches: readonly Match[],
  side: 'target' | 'source',
  values: readonly (readonly RowedValue[])[],
): RowedValue[][][] {
  const names = matches.map(({ [side]: value }) => (typeof value === 'string' ? value : value.attribute));
  const rows = new Set(values.flat().flatMap(({ row }) => row ?? []));
  return (rows.size === 0 ? [undefined] : [...rows]).flatMap((row) => {
    let chosen: Record<string, number>[] = [{}];
    for (const [index, name] of names.entries()) {
      const valueIndexes = (values[index] ?? []).flatMap((value, no) =>
        value.row === undefined || value.row === row ? [no] : [],
      );
      if (valueIndexes.length === 0 || chosen[0]?.[name] !== undefined) continue;
      chosen = chosen.flatMap((choice) =>
        valueIndexes.map((valueIndex) => ({ ...choice, [name]: valueIndex })),
      );
    }
    return chosen.map((choice) =>
      names.map((name, index) => (values[index] ?? []).filter((_, no) => no === choice[name])),
    );
  });
}

/** Neither the same product nor a product of its group, unless the definition allows the group (§12.3 rule 2). */
function isApart(a: Entry, b: Entry, { excludeSameGroup = true }: Definition): boolean {
  return a.product !== b.product && !(excludeSameGroup && a.group === b.group);
}

/** Source: docs/interface §12.3 rules 3 to 5. */
function compareEntries(a: Entry, b: Entry, sort: readonly Sort[]): number {
  for (const criterion of sort) {
    const order = compareBy(criterion, a, b);
    if (order !== 0) return order;
  }
  return a.product.id - b.product.id;
}

function compareBy({ attribute, direction }: Sort, a: Entry, b: Entry): number {
  const first = pickSortValue(valuesOf(a, attribute), direction);
  const second = pickSortValue(valuesOf(b, attribute), direction);
  if (first === undefined || second === undefined)
    return Number(first === undefined) - Number(second === undefined);
  return direction === 'asc' ? compareValues(first, second) : compareValues(second, first);
}

function pickSortValue(values: readonly Value[], direction: 'asc' | 'desc'): Value | undefined {
  return values.length > 1 ? values.toSorted(compareValues).at(direction === 'asc' ? 0 : -1) : values[0];
}

/** Numbers by size, false before true, text by code point, i.e. by its bytes in UTF-8. */
function compareValues(a: Value, b: Value): number {
  if (a === b) return 0;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}

/** @returns the identifiers by group; a group has the position of its best variant (§12.5 rule 1) */
function groupBy(candidates: readonly Candidate[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const { entry } of candidates) {
    const group = groups.get(entry.group);
    if (group) group.push(entry.product.identifier);
    else groups.set(entry.group, [entry.product.identifier]);
  }
  return [...groups.values()];
}

/** @returns the answer of the bulk form within a limit (§12.5 rule 1) */
export function cutBulk({ groups }: Related, limit: number): string[][] {
  return groups.slice(0, limit).map((group) => [...group]);
}

/** @returns the answer of the single form within a limit (§12.5 rule 3) */
export function cutSingle({ groups }: Related, limit: number): string[] {
  return groups.slice(0, limit).map(([best = '']) => best);
}
