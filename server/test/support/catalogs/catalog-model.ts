/** A catalog and its changes as pure data: the expected content after tasks took effect in a given order. */

export interface ModelProduct {
  readonly identifier: string;
  readonly name: string;
  readonly colour: string | undefined;
}

export type ModelCatalog = ReadonlyMap<string, ModelProduct>;

export type Change =
  | { readonly kind: 'commit'; readonly products: ModelCatalog }
  | { readonly kind: 'update'; readonly products: readonly ModelProduct[] }
  | { readonly kind: 'partial'; readonly colours: ReadonlyMap<string, string> }
  | { readonly kind: 'delete'; readonly identifiers: readonly string[] }
  | { readonly kind: 'restore' };

/** Products before the change; undefined: the change created it. */
type Before = ReadonlyMap<string, ModelProduct | undefined>;

export class CatalogModel {
  readonly keptCommits: number;
  catalog: ModelCatalog = new Map();
  private undo: readonly Before[] = [];
  /** The first commit with a colour makes it an attribute, so older products with a colour each gain a fact. */
  private hasFacts = false;

  constructor(keptCommits: number) {
    this.keptCommits = keptCommits;
  }

  /** @returns the expected status of the change's task */
  apply(change: Change): 'FINISHED' | 'FAILED' {
    if (change.kind === 'restore') return this.restore();
    const next = describeAfter(this.catalog, change);
    const isKept = change.kind === 'commit' || (change.kind === 'delete' && next.size < this.catalog.size);
    const gainsFacts = change.kind === 'commit' && !this.hasFacts;
    if (isKept)
      this.undo = [...this.undo, describeBefore(this.catalog, next, gainsFacts)].slice(-this.keptCommits);
    this.hasFacts ||=
      change.kind === 'commit' && [...next.values()].some(({ colour }) => colour !== undefined);
    this.catalog = next;
    return 'FINISHED';
  }

  /** @returns an independent copy */
  clone(): CatalogModel {
    const copy = new CatalogModel(this.keptCommits);
    copy.catalog = this.catalog;
    copy.undo = this.undo;
    copy.hasFacts = this.hasFacts;
    return copy;
  }

  private restore(): 'FINISHED' | 'FAILED' {
    const before = this.undo.at(-1);
    if (before === undefined) return 'FAILED';
    this.undo = this.undo.slice(0, -1);
    const next = new Map(this.catalog);
    for (const [identifier, product] of before) {
      if (product === undefined) next.delete(identifier);
      else next.set(identifier, product);
    }
    this.catalog = next;
    return 'FINISHED';
  }
}

function describeAfter(old: ModelCatalog, change: Exclude<Change, { kind: 'restore' }>): ModelCatalog {
  const next = new Map(old);
  switch (change.kind) {
    case 'commit':
      return change.products;
    case 'update':
      for (const product of change.products) next.set(product.identifier, product);
      return next;
    case 'partial':
      for (const [identifier, colour] of change.colours) {
        const present = next.get(identifier);
        if (present !== undefined) next.set(identifier, { ...present, colour });
      }
      return next;
    case 'delete':
      for (const identifier of change.identifiers) next.delete(identifier);
      return next;
  }
}

/** `gainsFacts`: a product with a colour changes although it is equal. Source: docs/interface §4.5 rule 2. */
function describeBefore(old: ModelCatalog, next: ModelCatalog, gainsFacts: boolean): Before {
  const before = new Map<string, ModelProduct | undefined>();
  for (const identifier of new Set([...old.keys(), ...next.keys()])) {
    const [was, is] = [old.get(identifier), next.get(identifier)];
    if (!isSame(was, is) || (gainsFacts && is?.colour !== undefined)) before.set(identifier, was);
  }
  return before;
}

export function isSame(a: ModelProduct | undefined, b: ModelProduct | undefined): boolean {
  return a?.name === b?.name && a?.colour === b?.colour;
}

/** @returns up to ten differences in words; empty if both are equal */
export function describeDifferences(actual: ModelCatalog, expected: ModelCatalog): string[] {
  const differences: string[] = [];
  for (const identifier of new Set([...expected.keys(), ...actual.keys()])) {
    const [is, should] = [actual.get(identifier), expected.get(identifier)];
    if (isSame(is, should)) continue;
    differences.push(`${identifier}: is ${describe(is)}, should be ${describe(should)}`);
    if (differences.length === 10) break;
  }
  return differences;
}

const describe = (product: ModelProduct | undefined) =>
  product === undefined ? 'absent' : `${product.name} ${product.colour ?? ''}`.trim();

/** @returns a product as exports show it */
export function readProduct({
  identifier,
  name,
  attributes,
}: {
  identifier: string;
  name: string;
  attributes: { key: string; value: string }[];
}): ModelProduct {
  return { identifier, name, colour: attributes.find(({ key }) => key === 'Colour')?.value };
}

/** @returns the body of an upload */
export function toBody(products: readonly ModelProduct[]) {
  return {
    products: products.map(({ identifier, name, colour }) => ({
      identifier,
      name,
      attributes: colour === undefined ? [] : [{ key: 'Colour', value: colour }],
    })),
  };
}

/** mulberry32: the same numbers for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
