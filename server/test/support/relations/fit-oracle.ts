/**
 * A second implementation of whether products fit, as simple as possible: every pair by every rule, with words for
 * true, false and unknown. It shares no code with the service. Source: docs/interface §12.3, §12.10.
 */

type Truth = 'false' | 'unknown' | 'true';

/** The kinds of filters and matches that the test makes. */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | { readonly category: readonly string[] }
  | { readonly identifiers: readonly string[] }
  | { readonly attribute: string; readonly operator: string; readonly value?: unknown };

export interface Term {
  readonly attribute: string;
  readonly times?: number;
  readonly plus?: number;
}

export interface Match {
  readonly target: string | Term;
  readonly operator: string;
  readonly source: string | Term;
  readonly missing?: 'fails' | 'passes';
  readonly table?: string;
}

type Pairs = readonly (readonly [string, string])[];

export interface FitDefinition {
  readonly id: number;
  readonly kind?: 'total';
  readonly excludeSameGroup?: boolean;
  readonly source: Filter;
  readonly target: Filter;
  readonly match: readonly (
    | Match
    | { readonly any: readonly Match[] }
    | { readonly together: readonly Match[] }
  )[];
  readonly total?: Term & { readonly missing?: 'fails' | 'passes' };
  readonly operator?: string;
  readonly limit?: Term;
}

export interface FitProduct {
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly categories?: readonly { readonly path: readonly string[] }[];
  readonly attributes?: readonly { readonly key: string; readonly value: string; readonly row?: number }[];
}

interface Read {
  readonly value: string | bigint;
  readonly row: number | undefined;
}

/** Numbers are counted in ten-thousandths, because no number here has more digits. */
const PARTS = 10_000n;
const toParts = (number: string | number): bigint => {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(number)) ?? [];
  return BigInt(`${sign}${whole}${fraction.padEnd(4, '0')}`);
};

/** `numeric`: attributes with the unit mm. All other attributes are text. */
export class FitOracle {
  private readonly numeric: ReadonlySet<string>;
  private readonly tables: Readonly<Record<string, Pairs>>;
  private readonly products: ReadonlyMap<string, FitProduct>;

  constructor(
    products: readonly FitProduct[],
    { numeric, tables }: { numeric: readonly string[]; tables: Readonly<Record<string, Pairs>> },
  ) {
    this.products = new Map(products.map((product) => [product.identifier, product]));
    this.numeric = new Set(numeric);
    this.tables = tables;
  }

  judge(definitions: readonly FitDefinition[], items: readonly { identifier: string; quantity?: number }[]) {
    const quantities = new Map<string, number>();
    for (const { identifier, quantity = 1 } of items)
      quantities.set(identifier, (quantities.get(identifier) ?? 0) + quantity);
    const named = [...quantities.keys()];
    const products = named.flatMap((identifier) => this.products.get(identifier) ?? []);
    const pairs = products.flatMap((source) =>
      products.flatMap((target) =>
        definitions.flatMap((definition) =>
          definition.kind === 'total' ? [] : this.judgePair(definition, source, target),
        ),
      ),
    );
    const totals = definitions.flatMap((definition) =>
      definition.kind === 'total' ? this.judgeTotal(definition, products, quantities) : [],
    );
    const unknownIdentifiers = named.filter((identifier) => !this.products.has(identifier));
    return {
      verdict: join([...pairs, ...totals], unknownIdentifiers.length > 0),
      pairs,
      totals,
      withoutRule: listUnjudged(products, pairs, totals),
      unknownIdentifiers,
    };
  }

  private judgePair(definition: FitDefinition, source: FitProduct, target: FitProduct) {
    if (source === target) return [];
    const isOneGroup = groupOf(source) === groupOf(target);
    if (isOneGroup && definition.excludeSameGroup !== false) return [];
    const sides = [this.holds(definition.source, source), this.holds(definition.target, target)];
    if (sides.includes('false')) return [];
    const match = definition.match.map((element) => this.judgeElement(element, source, target));
    const isUnknown = [...sides, ...match].includes('unknown');
    const verdict = match.includes('false') ? 'does_not_fit' : isUnknown ? 'unknown' : 'fits';
    const words = match.map((match) => WORDS[match]);
    return [
      { id: definition.id, source: source.identifier, target: target.identifier, verdict, match: words },
    ];
  }

  private judgeTotal(
    definition: FitDefinition,
    set: readonly FitProduct[],
    quantities: ReadonlyMap<string, number>,
  ) {
    const { total, operator = '', limit } = definition;
    if (total === undefined || limit === undefined) return [];
    const targets = set.filter((product) => this.holds(definition.target, product) !== 'false');
    if (targets.length === 0) return [];
    const wantsLess = operator.startsWith('less');
    /** The number that each product adds. Undefined: its value is missing. */
    const parts = targets.map((target) => {
      const values = this.read(target, total.attribute).map(({ value }) => value as bigint);
      // With a negative factor, the largest value makes the smallest sum.
      values.sort((a, b) => Number(a - b) * Math.sign(total.times ?? 1) * (wantsLess ? 1 : -1));
      const value = values[0] ?? (total.missing === 'passes' ? 0n : undefined);
      const times = BigInt(quantities.get(target.identifier) ?? 1);
      return { value, times, isSure: this.holds(definition.target, target) === 'true' };
    });
    const sum = parts.reduce((before, { value = 0n, times }) => before + value * times, 0n);
    const sums = listSums(parts, this.completionsOf(total.attribute));
    const standing = least(targets.map((target) => this.holds(definition.target, target)));
    const judgeSource = (source: FitProduct, side: Truth): Truth => {
      const limits = this.readTerm(source, limit);
      if (limits.length === 0) return 'unknown';
      const verdicts = new Set(
        sums.map((sum) => limits.some(({ value }) => compare(compute(sum, total), operator, value))),
      );
      if (verdicts.size > 1) return 'unknown';
      return verdicts.has(true) ? least([side, standing]) : 'false';
    };
    return set.flatMap((source) => {
      const side = this.holds(definition.source, source);
      if (side === 'false') return [];
      const verdict = WORDS[judgeSource(source, side)];
      const identifiers = targets.map(({ identifier }) => identifier);
      return [{ id: definition.id, source: source.identifier, verdict, parts: identifiers, sum }];
    });
  }

  /** The values that a missing value may have: a few numbers, with the smallest and the largest that matter here. */
  private completionsOf(name: string): readonly bigint[] {
    const values = [...this.products.values()].flatMap((product) => this.read(product, name));
    const isAnyNegative = values.some(({ value }) => typeof value === 'bigint' && value < 0n);
    return [0n, 1n, LARGE, ...(isAnyNegative ? [-1n, -LARGE] : [])];
  }

  private judgeElement(
    element: FitDefinition['match'][number],
    source: FitProduct,
    target: FitProduct,
  ): Truth {
    const judge = (match: Match) =>
      this.judgeMatch(match, this.readTerm(source, match.source), this.readTerm(target, match.target));
    if ('any' in element) return greatest(element.any.map(judge));
    if (!('together' in element)) return judge(element);
    // The best result of all rows of one product with all rows of the other.
    const sources = this.listRows(
      source,
      element.together.map((match) => match.source),
    );
    const targets = this.listRows(
      target,
      element.together.map((match) => match.target),
    );
    return greatest(
      sources.flatMap((from) =>
        targets.map((to) =>
          least(
            element.together.map((match, index) =>
              this.judgeMatch(match, from[index] ?? [], to[index] ?? []),
            ),
          ),
        ),
      ),
    );
  }

  private judgeMatch(match: Match, source: readonly Read[], target: readonly Read[]): Truth {
    if (source.length === 0 || target.length === 0) return match.missing === 'passes' ? 'true' : 'unknown';
    const pairs = match.table === undefined ? [] : (this.tables[match.table] ?? []);
    const isListed = (a: Read, b: Read) =>
      pairs.some(([from, to]) => readValue(from) === b.value && readValue(to) === a.value);
    return `${target.some((a) =>
      source.some((b) => compare(a.value, match.operator, b.value) || isListed(a, b)),
    )}`;
  }

  /** Each named row, or a single row, with one value per attribute: that of the row, or one without a row. */
  private listRows(product: FitProduct, terms: readonly (string | Term)[]): (readonly Read[])[][] {
    const names = [...new Set(terms.map(nameOf))];
    const all = names.flatMap((name) => this.read(product, name));
    const rows = [...new Set(all.flatMap(({ row }) => row ?? []))];
    return (rows.length === 0 ? [undefined] : rows).flatMap((row) => {
      let chosen: Map<string, Read>[] = [new Map()];
      for (const name of names) {
        const own = this.read(product, name).filter((value) => value.row === undefined || value.row === row);
        if (own.length > 0)
          chosen = chosen.flatMap((before) => own.map((value) => new Map(before).set(name, value)));
      }
      return chosen.map((values) =>
        terms.map((term) => {
          const read = values.get(nameOf(term));
          return read === undefined ? [] : [{ ...read, value: compute(read.value, term) }];
        }),
      );
    });
  }

  private readTerm(product: FitProduct, term: string | Term): Read[] {
    return this.read(product, nameOf(term)).map((read) => ({ ...read, value: compute(read.value, term) }));
  }

  private read({ attributes = [] }: FitProduct, name: string): Read[] {
    return attributes.flatMap(({ key, value, row }): Read[] => {
      if (key !== name) return [];
      if (!this.numeric.has(name)) return [{ value, row }];
      const read = readValue(value);
      return typeof read === 'string' ? [] : [{ value: read, row }];
    });
  }

  private holds(filter: Filter, product: FitProduct): Truth {
    if ('all' in filter) return least(filter.all.map((filter) => this.holds(filter, product)));
    if ('any' in filter) return greatest(filter.any.map((filter) => this.holds(filter, product)));
    if ('not' in filter) return OPPOSITE[this.holds(filter.not, product)];
    if ('identifiers' in filter) return `${filter.identifiers.includes(product.identifier)}`;
    if ('category' in filter) {
      const { categories = [] } = product;
      return `${categories.some(({ path }) => filter.category.every((name, index) => path[index] === name))}`;
    }
    const values = this.read(product, filter.attribute);
    if (filter.operator === 'exists') return `${values.length > 0}`;
    if (values.length === 0) return 'unknown';
    const operand = typeof filter.value === 'number' ? toParts(filter.value) : String(filter.value);
    return `${values.some(({ value }) => compare(value, filter.operator, operand))}`;
  }
}

/** Larger than all sums and limits of the test. */
const LARGE = 1_000_000n * PARTS;

/** @returns the sums of all completions, in which at least one product is on the target side */
function listSums(
  parts: readonly { readonly value: bigint | undefined; readonly times: bigint; readonly isSure: boolean }[],
  completions: readonly bigint[],
): bigint[] {
  let sums = new Set<bigint>();
  let mayBeNone = true;
  for (const { value, times, isSure } of parts) {
    const values = (value === undefined ? completions : [value]).map((number) => number * times);
    const added = [...sums].flatMap((sum) => values.map((value) => sum + value));
    sums = new Set([...(isSure ? [] : sums), ...added, ...(mayBeNone ? values : [])]);
    mayBeNone &&= !isSure;
  }
  return [...sums];
}

interface Judged {
  readonly verdict: string;
}

function join(judged: readonly Judged[], isAnyUnknown: boolean): string {
  const words = judged.map(({ verdict }) => verdict);
  if (words.includes('does_not_fit')) return 'does_not_fit';
  if (isAnyUnknown || words.includes('unknown')) return 'unknown';
  return words.length > 0 ? 'fits' : 'no_rule';
}

/** @returns the pairs that no pair or total judges */
function listUnjudged(
  products: readonly FitProduct[],
  pairs: readonly { source: string; target: string }[],
  totals: readonly { source: string; parts: readonly string[] }[],
): string[][] {
  const isSaid = (a: string, b: string) =>
    pairs.some(({ source, target }) => source === a && target === b) ||
    totals.some(({ source, parts }) => source === a && parts.includes(b));
  const names = products.map(({ identifier }) => identifier);
  return names.flatMap((a, index) =>
    names.slice(index + 1).flatMap((b) => (isSaid(a, b) || isSaid(b, a) ? [] : [[a, b]])),
  );
}

const WORDS = { false: 'does_not_fit', unknown: 'unknown', true: 'fits' } as const;
const OPPOSITE = { false: 'true', unknown: 'unknown', true: 'false' } as const;
const ORDER: readonly Truth[] = ['false', 'unknown', 'true'];
const least = (truths: readonly Truth[]): Truth => ORDER.find((truth) => truths.includes(truth)) ?? 'true';
const greatest = (truths: readonly Truth[]): Truth =>
  ORDER.findLast((truth) => truths.includes(truth)) ?? 'false';

const groupOf = ({ identifier, groupIdentifier }: FitProduct) => groupIdentifier ?? identifier;
const nameOf = (term: string | Term) => (typeof term === 'string' ? term : term.attribute);

function compute(value: string | bigint, term: string | Term): string | bigint {
  if (typeof term === 'string' || typeof value === 'string') return value;
  return (value * toParts(term.times ?? 1)) / PARTS + toParts(term.plus ?? 0);
}

/** @returns a length as a number, everything else as text */
function readValue(text: string): string | bigint {
  const [, number] = /^(-?\d+(?:\.\d+)?) mm$/.exec(text) ?? [];
  return number === undefined ? text : toParts(number);
}

function compare(a: string | bigint, operator: string, b: string | bigint): boolean {
  switch (operator) {
    case 'equals':
      return a === b;
    case 'notEquals':
      return a !== b;
    case 'less':
      return a < b;
    case 'lessOrEqual':
      return a <= b;
    case 'greater':
      return a > b;
    default:
      return a >= b;
  }
}
