/**
 * The answers of the Universal Commerce Protocol. A thread that answers relations makes them: it reads the uploads and
 * writes the JSON, and the serving thread only sends the bytes.
 */
import type { FindGroups, IndexOutcome } from '../../search/search.ts';
import { type Budget, type Operation, shareText } from '../../storage/threads/threads.ts';
import {
  ChannelReading,
  IndexMissing,
  LIMITS,
  type ReadGroup,
  resolve,
  type UcpOrder,
} from './channel-reading.ts';
import { describeCompatibility } from './ucp-compatibility.ts';
import { CATEGORY_LEVEL, toDetail, toUcpProduct, type UcpProduct, type UcpVariant } from './ucp-product.ts';
import type { ProductRequest, UcpFilters, UcpLookup, UcpSearch, UcpUse } from './ucp-schemas.ts';

/** The maximum cost of a question. It is charged for a question whose end was not observed. */
export const LARGEST_USE: UcpUse = LIMITS.named;

/**
 * The number of groups per read, and of reads per page. If the page is not full then, the rest comes with the next
 * page.
 */
const READ = 40;
const ROUNDS = 10;

export interface UcpAnswer {
  /** Undefined for a product that the channel does not have. */
  readonly json: Uint8Array<SharedArrayBuffer> | undefined;
  readonly use: UcpUse;
}

/** A product, and the products with which its compatibility is judged. */
export interface UcpProductAnswer extends UcpAnswer {
  readonly shown: string;
  readonly items: readonly { readonly identifier: string; readonly quantity: number }[];
  readonly unknown: readonly string[];
}

/** The operations of the threads that answer relations. */
export function ucpOperations(findGroups: FindGroups): Record<string, Operation> {
  const onChannel =
    <Asked, Answer extends object>(
      limit: UcpUse,
      work: (reading: ChannelReading, asked: Asked) => Promise<Answer>,
    ) =>
    async (order: UcpOrder<Asked>, budget: Budget): Promise<IndexOutcome<Answer & { use: UcpUse }>> => {
      const reading = new ChannelReading(findGroups, order, { limit, budget });
      try {
        const answer = await work(reading, order.question.asked);
        return { answer: { ...answer, use: reading.use }, ...reading.state };
      } catch (error) {
        if (error instanceof IndexMissing) return { missing: error.message };
        throw error;
      }
    };
  return {
    ucpSearch: onChannel(LIMITS.search, searchProducts),
    ucpLookup: onChannel(LIMITS.named, lookUpProducts),
    ucpProduct: onChannel(LIMITS.named, showProduct),
    ucpCompatibility: onChannel(LIMITS.named, describeCompatibility),
  };
}

/** A page that is being filled. */
interface SearchPage extends UcpSearch {
  readonly products: UcpProduct[];
  isPartial: boolean;
}

/** Writes a page of products in the form of the protocol. */
async function searchProducts(reading: ChannelReading, search: UcpSearch) {
  const page: SearchPage = { ...search, products: [], isPartial: false };
  let next: number | undefined = search.offset;
  for (let round = 0; round < ROUNDS && next !== undefined; round += 1) {
    if (page.products.length === page.limit || (round > 0 && reading.isSpent)) break;
    next = await fillPage(reading, page, next);
  }
  const { products, isPartial } = page;
  return {
    json: shareText(
      JSON.stringify({
        products,
        pagination: {
          has_next_page: next !== undefined,
          ...(next !== undefined && { cursor: String(next) }),
        },
        ...(isPartial && { messages: [PARTIAL] }),
      }),
    ),
  };
}

/** @returns the position after the last group that was read; undefined after the last of all groups */
function fillPage(reading: ChannelReading, page: SearchPage, from: number): Promise<number | undefined> {
  const { query, filters, products, limit } = page;
  const { categories = [] } = filters;
  const isFull = () => products.length === limit || (products.length > 0 && reading.isSpent);
  return reading.find({ query, categories, offset: from, limit: READ }, async (found, read) => {
    page.isPartial ||= found.isPartial;
    for (const [index, documents] of found.groups.entries()) {
      if (isFull()) return from + index;
      const { id, variants, isCut } = await read(documents);
      page.isPartial ||= isCut;
      const priced = variants.filter(isPriced(filters));
      if (priced.length > 0) products.push(toUcpProduct(id, priced));
    }
    return found.groups.length < READ ? undefined : from + READ;
  });
}

const PARTIAL = {
  type: 'info',
  code: 'partial',
  content: 'Only a part of the catalog has been searched so far.',
};

/** Returns products with the named variant or their best variant, and the identifiers that led to them. */
async function lookUpProducts(reading: ChannelReading, { ids, filters }: UcpLookup) {
  const { groups, isPartial } = await resolve(reading, ids);
  const products = groups.flatMap(({ id, variants }) => {
    const priced = variants.filter(isPriced(filters)).filter(isWithin(filters));
    const named = priced.filter((variant) => ids.includes(variant.id));
    const featured =
      ids.includes(id) && !named.some((variant) => variant.id === id) ? priced.slice(0, 1) : [];
    const shown = [...new Set([...named, ...featured])].map((variant) => ({
      ...variant,
      inputs: [
        ...(ids.includes(variant.id) ? [{ id: variant.id, match: 'exact' }] : []),
        ...(featured.includes(variant) ? [{ id, match: 'featured' }] : []),
      ],
    }));
    return shown.length === 0 ? [] : [{ ...toUcpProduct(id, priced), variants: shown }];
  });
  const foundIds = new Set(
    products.flatMap(({ variants }) =>
      variants.flatMap((variant) => variant.inputs.map((input) => input.id)),
    ),
  );
  const messages = [
    ...ids.filter((id) => !foundIds.has(id)).map((content) => ({ type: 'info', code: 'not_found', content })),
    ...(isPartial ? [PARTIAL] : []),
  ];
  return { json: shareText(JSON.stringify({ products, ...(messages.length > 0 && { messages }) })) };
}

async function showProduct(
  reading: ChannelReading,
  { id, selected = [], preferences = [], filters = {}, compatibility }: ProductRequest,
): Promise<Omit<UcpProductAnswer, 'use'>> {
  const { groups } = await resolve(reading, [id]);
  const [group] = groups;
  const variants = group?.variants.filter(isPriced(filters)).filter(isWithin(filters)) ?? [];
  if (group === undefined || variants.length === 0)
    return { json: undefined, shown: '', items: [], unknown: [] };
  const variant = variants.find((candidate) => candidate.id === id);
  const choice = { selected, preferences, variant: group.id === id ? undefined : variant };
  const detail = toDetail(group.id, variants, choice);
  const shown = detail.variants[0]?.id ?? id;
  const named = compatibility === undefined ? [] : [shown, ...compatibility.with];
  const json = shareText(JSON.stringify(detail));
  return { json, shown, ...(await listItems(reading, named.length < 2 ? [] : named)) };
}

/** Lists products for the judgement. A product that the channel does not have is unknown to its callers. */
async function listItems(reading: ChannelReading, ids: readonly string[]) {
  const { groups } = await resolve(reading, ids);
  const items = ids.flatMap((id) => {
    const group = groups.find((candidate) => isNamed(candidate, id));
    const variant = group?.variants.find((candidate) => candidate.id === id) ?? group?.variants[0];
    return variant === undefined ? [] : [{ identifier: variant.id, quantity: 1 }];
  });
  return { items, unknown: ids.filter((id) => !groups.some((group) => isNamed(group, id))) };
}

const isNamed = ({ id, variants }: ReadGroup, named: string) =>
  id === named || variants.some((variant) => variant.id === named);

const isPriced =
  ({ price: { min = 0, max = Number.POSITIVE_INFINITY } = {} }: UcpFilters) =>
  ({ price: { amount } }: UcpVariant): boolean =>
    amount >= min && amount <= max;

/** Matches a category by its path, or by the name of one of its levels. */
const isWithin =
  ({ categories = [] }: UcpFilters) =>
  ({ categories: own = [] }: UcpVariant): boolean =>
    categories.length === 0 ||
    own.some(({ value }) =>
      categories.some(
        (category) =>
          value === category ||
          value.startsWith(category + CATEGORY_LEVEL) ||
          value.split(CATEGORY_LEVEL).includes(category),
      ),
    );
