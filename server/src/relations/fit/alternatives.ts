import type { Static } from 'typebox';
import {
  type Comparable,
  type ComparedAttribute,
  readComparables,
  toCompared,
} from '../../catalog/filters/filters.ts';
import { makeItem } from '../../catalog/lookup/lookup.ts';
import { type Attribute, indexByKey } from '../../catalog/ontology/ontology.ts';
import { StoredUpload } from '../../catalog/products/documents/documents.ts';
import { mainCategory, type UploadedProduct } from '../../catalog/products/products.ts';
import { type Budget, isTooLong } from '../../storage/threads/threads.ts';
import { HIGHEST_RELEVANCE, type SingleProduct } from '../relation-definitions/relation-definitions.ts';
import { listKeys, readFrom } from '../rules/rules.ts';
import { type CatalogColumns, type PresentUpload, UPLOADS_AT_ONCE } from '../surveys/surveys.ts';
import { judgeUpload, type MayBeNegative, type SetJudge, type SetProduct } from './judgement.ts';

/** Products that could replace those that do not fit. Source: docs/interface §12.10. */

/** The catalog in which alternatives are searched. */
export interface AlternativeCatalog {
  readonly attributes: readonly Attribute[];
  readonly brandAttribute: string;
  readonly priceAttribute: string;
  /** Undefined if the catalog is too large to scan. */
  readonly columns: CatalogColumns | undefined;
  findUploads(identifiers: readonly string[]): Promise<readonly PresentUpload[]>;
}

export interface OrderedProduct extends SetProduct {
  readonly upload: UploadedProduct;
}

export interface AlternativeOrder {
  readonly judge: SetJudge;
  readonly set: readonly OrderedProduct[];
  /** Identifiers of the products that do not fit. */
  readonly unfit: ReadonlySet<string>;
  readonly mayBeNegative: MayBeNegative;
  /** The most alternatives for each product that does not fit. */
  readonly most: number;
  readonly limit: Budget;
}

/**
 * @returns alternatives for each product that does not fit. An alternative has the main category of the
 * product and fits all other products. The nearest in price comes first.
 */
export async function listAlternatives(catalog: AlternativeCatalog, order: AlternativeOrder) {
  const alternatives = [];
  for (const unfit of order.set) {
    const { identifier } = unfit.product;
    if (!order.unfit.has(identifier)) continue;
    alternatives.push({ insteadOf: identifier, ...(await findReplacements(unfit, catalog, order)) });
  }
  return alternatives;
}

const REASONS = {
  category: 'the product has no category to search for alternatives',
  large: 'the catalog is too large to search for alternatives',
  late: 'the time limit ended the search before all products of its category were checked',
  none: 'no other product of its category fits everything else',
};

async function findReplacements(
  replaced: OrderedProduct,
  catalog: AlternativeCatalog,
  order: AlternativeOrder,
) {
  const path = mainPathOf(replaced.upload);
  if (path === undefined) return { products: [], reason: REASONS.category };
  if (catalog.columns === undefined) return { products: [], reason: REASONS.large };
  const { most, limit } = order;
  const products: DescribedAlternative[] = [];
  try {
    for await (const candidate of listSuitable(
      replaced,
      { ...catalog, columns: catalog.columns },
      { path, ...order },
    )) {
      products.push(limit.measure(describeAlternative(catalog, { ...candidate, position: products.length })));
      if (products.length === most) break;
    }
  } catch (error) {
    if (isTooLong(error)) return { products, reason: REASONS.late };
    throw error;
  }
  return { products, ...(products.length === 0 && { reason: REASONS.none }) };
}

type DescribedAlternative = ReturnType<typeof describeAlternative>;

/**
 * Yields products with the category path that fit everything else, nearest in price first.
 * @throws search_too_long
 */
async function* listSuitable(
  replaced: OrderedProduct,
  catalog: AlternativeCatalog & { readonly columns: CatalogColumns },
  { path, judge: judging, set, mayBeNegative, limit }: AlternativeOrder & { readonly path: string },
): AsyncGenerator<Candidate, void> {
  const others = set.filter((other) => other !== replaced);
  const judge = judging.judgeBeside(others, { mayBeNegative, budget: limit });
  const named = new Set(set.map(({ product }) => product.identifier));
  const search = { path, replaced, judged: judging.attributes, mayFit: judge.mayFit, limit };
  for await (const candidate of readProducts(catalog, sortByPrice(catalog, catalog.columns, search))) {
    limit.charge();
    const { product } = candidate;
    if (mainPathOf(product) !== path || named.has(product.identifier)) continue;
    if (judge.fitsStrictly({ product: judgeUpload(product), quantity: replaced.quantity })) yield candidate;
  }
}

interface Candidate {
  readonly productId: number;
  readonly product: UploadedProduct;
}

/** @returns the path of the main category as JSON */
function mainPathOf({ categories }: UploadedProduct): string | undefined {
  const main = mainCategory(categories);
  return main && JSON.stringify(main.path);
}

/** Yields the products in the order of the identifiers. */
async function* readProducts({ findUploads }: AlternativeCatalog, identifiers: readonly string[]) {
  for (let start = 0; start < identifiers.length; start += UPLOADS_AT_ONCE) {
    const chunk = identifiers.slice(start, start + UPLOADS_AT_ONCE);
    const uploads = await findUploads(chunk);
    const orders = new Map(chunk.map((identifier, order) => [identifier, order]));
    const orderOf = ({ raw }: PresentUpload) => orders.get(new StoredUpload(raw).identifier) ?? 0;
    for (const { productId, raw } of uploads.toSorted((a, b) => orderOf(a) - orderOf(b)))
      yield { productId, product: JSON.parse(raw) as UploadedProduct } satisfies Candidate;
  }
}

interface CandidateSearch {
  readonly path: string;
  readonly replaced: OrderedProduct;
  readonly judged: readonly ComparedAttribute[];
  readonly limit: Budget;
  mayFit(product: SetProduct): boolean;
}

/**
 * @returns identifiers of products with the category path that may fit, nearest in price first. Products
 * without a price are last, and ties are by id.
 * @throws search_too_long
 */
function sortByPrice(
  { attributes, priceAttribute }: AlternativeCatalog,
  columns: CatalogColumns,
  { path, replaced, judged, mayFit, limit }: CandidateSearch,
): string[] {
  const { quantity } = replaced;
  const price = findPrice(attributes, priceAttribute);
  const own = price && leastOf(readComparables(replaced.upload, price).map(({ comparable }) => comparable));
  const isPath = new Map<unknown, boolean>();
  const priced: { readonly index: number; readonly distance: number }[] = [];
  for (const view of columns.views([...judged, ...(price ? [price] : [])], limit)) {
    const { row: index } = view;
    const categories = columns.categoriesOf(index);
    const hasPath =
      isPath.get(categories) ?? categories.some((category) => JSON.stringify(category.path) === path);
    isPath.set(categories, hasPath);
    if (!hasPath) continue;
    const groupIdentifier = columns.groupAt(index);
    const product = { identifier: view.identifier, groupIdentifier, view, read: readFrom(view) };
    if (!mayFit({ product, quantity })) continue;
    priced.push({ index, distance: distanceOf(own, price && leastOf(view.valuesOf(price))) });
  }
  return priced
    .sort((a, b) => a.distance - b.distance || a.index - b.index)
    .map(({ index }) => columns.identifierAt(index));
}

const distanceOf = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? Number.MAX_VALUE : Math.abs(a - b);

const leastOf = (values: readonly Comparable[]) =>
  values.length === 0 ? undefined : Math.min(...values.map(Number));

/** @returns the attribute whose values are the prices that alternatives are sorted by */
export function findPrice(attributes: readonly Attribute[], name: string): ComparedAttribute | undefined {
  const attribute = attributes.find(
    (candidate) => candidate.name === name && candidate.type === 'NUMERIC_ATTRIBUTE',
  );
  if (attribute === undefined) return undefined;
  return toCompared(attribute, listKeys(attributes).get(attribute.id) ?? []);
}

/** The same description that an answer for one product has. */
function describeAlternative(
  { attributes, brandAttribute }: AlternativeCatalog,
  { productId, product, position }: { productId: number; product: UploadedProduct; position: number },
) {
  const settings = { brandAttribute, attributes: indexByKey(attributes), categoryIdOf: () => 0 };
  const item = makeItem(productId, product, { ...settings, form: 'single' });
  return { ...item, relevance: HIGHEST_RELEVANCE - position } as Static<typeof SingleProduct>;
}
