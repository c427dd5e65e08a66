/** A product as it was sent, with the parts whose differences are shown. */
export interface ComparedProduct {
  readonly name?: string;
  readonly groupIdentifier?: string;
  readonly productUrl?: string;
  readonly categories?: readonly { readonly path: readonly string[] }[];
  readonly images?: readonly { readonly url: string; readonly type: string }[];
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: string;
    readonly userGroups?: readonly string[];
  }[];
  readonly settings?: unknown;
}

/** A field or attribute of a product that differs between two versions. */
export interface Difference {
  readonly field: string;
  readonly isAttribute: boolean;
  /** A line for each value; empty if there was none. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** @returns the differences, the product's own fields first; null stands for no product */
export function listDifferences(
  before: ComparedProduct | null,
  after: ComparedProduct | null,
): readonly Difference[] {
  const [old, young] = [readFields(before), readFields(after)];
  const fields = [...new Set([...old.keys(), ...young.keys()])];
  return fields
    .map((key) => {
      const [isAttribute, field] = [key.startsWith('@'), key.slice(1)];
      return { field, isAttribute, before: old.get(key) ?? [], after: young.get(key) ?? [] };
    })
    .filter((difference) => difference.before.join('\n') !== difference.after.join('\n'))
    .sort((a, b) => Number(a.isAttribute) - Number(b.isAttribute));
}

/** @returns values by field, with `@` before the names of attributes */
function readFields(product: ComparedProduct | null): Map<string, readonly string[]> {
  const fields = new Map<string, readonly string[]>();
  if (product === null) return fields;
  const { categories = [], images = [], attributes = [], settings } = product;
  const own: Record<string, readonly string[]> = {
    name: lineOf(product.name),
    groupIdentifier: lineOf(product.groupIdentifier),
    productUrl: lineOf(product.productUrl),
    categories: categories.map(({ path }) => path.join(' › ')),
    images: images.map(({ url, type }) => `${type} ${url}`),
    settings: lineOf(settings && JSON.stringify(settings)),
  };
  for (const [field, lines] of Object.entries(own)) if (lines.length > 0) fields.set(` ${field}`, lines);
  for (const { key, value, userGroups = [] } of attributes) {
    const line = userGroups.length > 0 ? `${value} (${userGroups.join(', ')})` : value;
    fields.set(`@${key}`, [...(fields.get(`@${key}`) ?? []), line]);
  }
  return fields;
}

const lineOf = (text: unknown): readonly string[] => (text ? [String(text)] : []);
