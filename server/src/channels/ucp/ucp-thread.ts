import { viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { readRelated } from '../../relations/answering/answering.ts';
import type { FitAnswer } from '../../relations/fit/fit.ts';
import type { FindGroups, GroupQuestion, IndexOutcome, OpenGroups } from '../../search/search.ts';
import { type Budget, type Operation, shareText } from '../../storage/threads/threads.ts';
import { type ChannelDefinition, compileChannelFilter } from '../channel-definitions/channel-definitions.ts';
import { isForEverybody } from '../field-mapping/field-mapping.ts';
import type { UcpProduct, UcpVariant } from './ucp-product.ts';
import { CATEGORY_LEVEL, openVariants, toDetail, toUcpProduct } from './ucp-product.ts';
import type { ProductRequest, UcpFilters, UcpLookup, UcpSearch, UcpUse } from './ucp-schemas.ts';

/**
 * The answers of the Universal Commerce Protocol, made in a thread that answers relations: it reads the uploads and
 * writes the JSON, and the serving thread only sends the bytes.
 */

/** Of one question. */
const LIMITS = {
  /** A page ends early, and the next one continues after it. */
  search: { bytes: 32 * 1024 * 1024, ms: 1_000 },
  /** Beyond it the question is refused. */
  named: { bytes: 128 * 1024 * 1024, ms: 3_000 },
} as const;

/** What a question costs at most, charged for one whose end nobody saw. */
export const LARGEST_USE: UcpUse = LIMITS.named;

/** Groups per read, and reads per page: if the page is not full by then, the rest comes with the next one. */
const READ = 40;
const ROUNDS = 10;
/** The most members of a group that are looked at. */
const MEMBERS = 100;
/** Uploads in memory at a time, of up to 2 MB each. */
const AT_ONCE = 8;

interface UcpQuestion<Asked> {
  readonly definition: ChannelDefinition;
  readonly asked: Asked;
}

export interface UcpOrder<Asked> {
  readonly projectId: number;
  readonly allowIncomplete: 'never' | 'far' | 'most';
  readonly question: UcpQuestion<Asked>;
}

export interface UcpAnswer {
  /** Undefined for a product that the channel does not have. */
  readonly json: Uint8Array<SharedArrayBuffer> | undefined;
  readonly use: UcpUse;
}

/** A product, and what its compatibility is asked about. */
export interface UcpProductAnswer extends UcpAnswer {
  readonly shown: string;
  readonly items: readonly { readonly identifier: string; readonly quantity: number }[];
  readonly unknown: readonly string[];
}

export interface AskedCompatibility {
  /** Answers of relations and of fit as JSON. */
  readonly related: Uint8Array | undefined;
  readonly fit: Uint8Array | undefined;
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

class IndexMissing extends Error {}

interface ReadGroup {
  readonly id: string;
  readonly variants: readonly UcpVariant[];
  /** Whether the limit ended before all members were read. */
  readonly isCut: boolean;
}

/** Reads groups of a channel's products, within the limit of one question. */
class ChannelReading {
  readonly definition: ChannelDefinition;
  readonly state = { isBehind: false, isComplete: true };
  private readonly findGroups: FindGroups;
  private readonly order: UcpOrder<unknown>;
  private readonly limit: UcpUse;
  private readonly budget: Budget;
  private readonly begunAt = performance.now();
  private bytes = 0;

  constructor(
    findGroups: FindGroups,
    order: UcpOrder<unknown>,
    { limit, budget }: { readonly limit: UcpUse; readonly budget: Budget },
  ) {
    this.findGroups = findGroups;
    this.order = order;
    this.definition = order.question.definition;
    this.limit = limit;
    this.budget = budget;
  }

  get use(): UcpUse {
    return { bytes: this.bytes, ms: performance.now() - this.begunAt };
  }

  get isSpent(): boolean {
    const { bytes, ms } = this.use;
    return bytes >= this.limit.bytes || ms >= this.limit.ms;
  }

  /** @returns what `use` makes of the groups that are found, with a function that reads one of them */
  async find<Answer>(
    {
      categories = [],
      ...question
    }: Omit<GroupQuestion, 'filters' | 'filter'> & {
      readonly categories?: readonly string[];
    },
    use: (found: OpenGroups, read: (documents: readonly number[]) => Promise<ReadGroup>) => Promise<Answer>,
  ): Promise<Answer> {
    const { projectId, allowIncomplete } = this.order;
    const values = categories.map((one) => one.replaceAll(CATEGORY_LEVEL, '#'));
    const filters = values.length === 0 ? [] : [{ name: 'category', values }];
    const narrowed = { ...question, filters, filter: JSON.stringify(this.definition.filter) };
    const outcome = await this.findGroups(
      { projectId, allowIncomplete, question: narrowed },
      (found) => {
        this.bytes += found.bytes;
        return use(found, this.openGroup(found));
      },
      this.budget,
    );
    if ('missing' in outcome) throw new IndexMissing(outcome.missing);
    this.state.isBehind ||= outcome.isBehind;
    this.state.isComplete &&= outcome.isComplete;
    return outcome.answer;
  }

  /** @returns a function that reads the members of a group that go out, as far as the limit allows */
  private openGroup({ attributes, read }: OpenGroups) {
    const { definition } = this;
    const test = compileChannelFilter(definition.filter, attributes);
    const toVariant = openVariants(definition, attributes);
    const make = (product: UploadedProduct): UcpVariant | undefined =>
      isForEverybody(product) && test(viewUpload(product)) ? toVariant(product) : undefined;
    return async (documents: readonly number[]): Promise<ReadGroup> => {
      let at = 0;
      const members: { readonly id: string; readonly variant: UcpVariant | undefined }[] = [];
      for (; at < documents.length && (at === 0 || !this.isSpent); at += AT_ONCE) {
        this.budget.check();
        for (const { product, bytes } of await read(documents.slice(at, at + AT_ONCE))) {
          this.bytes += bytes;
          members.push({ id: product.groupIdentifier, variant: make(product) });
        }
      }
      const id = members[0]?.id ?? '';
      const variants = members.flatMap((one) => (one.id === id ? (one.variant ?? []) : []));
      return { id, variants, isCut: at < documents.length };
    };
  }
}

/** A page that is being filled. */
interface SearchPage extends UcpSearch {
  readonly products: UcpProduct[];
  isPartial: boolean;
}

/** A page of products, in the words of the protocol. */
async function searchProducts(reading: ChannelReading, asked: UcpSearch) {
  const page: SearchPage = { ...asked, products: [], isPartial: false };
  let next: number | undefined = asked.offset;
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

/** @returns the place after the last group that was looked at; undefined after the last of all */
function fillPage(reading: ChannelReading, page: SearchPage, from: number): Promise<number | undefined> {
  const { query, filters, products, limit } = page;
  const { categories = [] } = filters;
  const isFull = () => products.length === limit || (products.length > 0 && reading.isSpent);
  return reading.find({ query, categories, offset: from, limit: READ }, async (found, read) => {
    page.isPartial ||= found.isPartial;
    for (const [at, documents] of found.groups.entries()) {
      if (isFull()) return from + at;
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
  content: 'Only a part of the catalog was looked through yet.',
};

/** @returns the groups that these identifiers or groups name, whole @throws request_invalid if they are too large */
async function resolve(reading: ChannelReading, ids: readonly string[]) {
  const whole = { offset: 0, limit: MEMBERS };
  if (ids.length === 0) return { groups: [] as ReadGroup[], isPartial: false };
  const groupIds = await reading.find({ named: ids, ...whole }, ({ groups, nameGroups }) =>
    nameGroups(groups.flatMap(([first]) => first ?? [])),
  );
  if (groupIds.length === 0) return { groups: [] as ReadGroup[], isPartial: false };
  return reading.find({ named: groupIds, ...whole }, async (found, read) => {
    const groups = await readEach(reading, found, read);
    return { groups: groups.filter(({ variants }) => variants.length > 0), isPartial: found.isPartial };
  });
}

/** @throws request_invalid when the limit is used up before all groups are read */
async function readEach(
  reading: ChannelReading,
  { groups }: OpenGroups,
  read: (documents: readonly number[]) => Promise<ReadGroup>,
): Promise<ReadGroup[]> {
  const found: ReadGroup[] = [];
  for (const documents of groups) {
    const group = found.length > 0 && reading.isSpent ? undefined : await read(documents);
    if (group === undefined || group.isCut) throw new ServiceError('request_invalid', TOO_MUCH);
    found.push(group);
  }
  return found;
}

const TOO_MUCH = `the products named hold more than one request may read, ${LIMITS.named.bytes / 1024 / 1024} MiB in ${LIMITS.named.ms / 1_000} s: ask for fewer ids at once`;

/** Products with the named variant or their best one, and the identifiers that led to them. */
async function lookUpProducts(reading: ChannelReading, { ids, filters }: UcpLookup) {
  const { groups, isPartial } = await resolve(reading, ids);
  const products = groups.flatMap(({ id, variants }) => {
    const priced = variants.filter(isPriced(filters)).filter(isWithin(filters));
    const named = priced.filter((one) => ids.includes(one.id));
    const featured = ids.includes(id) && !named.some((one) => one.id === id) ? priced.slice(0, 1) : [];
    const shown = [...new Set([...named, ...featured])].map((one) => ({
      ...one,
      inputs: [
        ...(ids.includes(one.id) ? [{ id: one.id, match: 'exact' }] : []),
        ...(featured.includes(one) ? [{ id, match: 'featured' }] : []),
      ],
    }));
    return shown.length === 0 ? [] : [{ ...toUcpProduct(id, priced), variants: shown }];
  });
  const met = new Set(
    products.flatMap(({ variants }) => variants.flatMap((one) => one.inputs.map((input) => input.id))),
  );
  const messages = [
    ...ids.filter((id) => !met.has(id)).map((content) => ({ type: 'info', code: 'not_found', content })),
    ...(isPartial ? [PARTIAL] : []),
  ];
  return { json: shareText(JSON.stringify({ products, ...(messages.length > 0 && { messages }) })) };
}

async function showProduct(
  reading: ChannelReading,
  { id, selected = [], preferences = [], filters = {}, compatibility }: ProductRequest,
): Promise<Omit<UcpProductAnswer, 'use'>> {
  const { groups } = await resolve(reading, [id]);
  const [found] = groups;
  const variants = found?.variants.filter(isPriced(filters)).filter(isWithin(filters)) ?? [];
  if (found === undefined || variants.length === 0)
    return { json: undefined, shown: '', items: [], unknown: [] };
  const variant = variants.find((one) => one.id === id);
  const choice = { selected, preferences, variant: found.id === id ? undefined : variant };
  const detail = toDetail(found.id, variants, choice);
  const shown = detail.variants[0]?.id ?? id;
  const named = compatibility === undefined ? [] : [shown, ...compatibility.with];
  const json = shareText(JSON.stringify(detail));
  return { json, shown, ...(await listItems(reading, named.length < 2 ? [] : named)) };
}

/** Products that the channel does not have are unknown to its callers. */
async function listItems(reading: ChannelReading, ids: readonly string[]) {
  const { groups } = await resolve(reading, ids);
  const items = ids.flatMap((id) => {
    const group = groups.find((one) => isNamed(one, id));
    const variant = group?.variants.find((one) => one.id === id) ?? group?.variants[0];
    return variant === undefined ? [] : [{ identifier: variant.id, quantity: 1 }];
  });
  return { items, unknown: ids.filter((id) => !groups.some((one) => isNamed(one, id))) };
}

const isNamed = ({ id, variants }: ReadGroup, named: string) =>
  id === named || variants.some((one) => one.id === named);

/** Part of the compatibility extension. */
async function describeCompatibility(reading: ChannelReading, { related, fit, unknown }: AskedCompatibility) {
  const shown = related === undefined ? [] : await describeRelated(reading, related);
  const judged = fit && describeFit(fit, unknown);
  return { json: shareText(JSON.stringify({ related: shown, ...(judged && { fit: judged }) })) };
}

async function describeRelated(reading: ChannelReading, answer: Uint8Array) {
  const listed = readRelated(answer);
  const ids = [...new Set(listed.flatMap(({ searchResult }) => searchResult.map((one) => one.identifier)))];
  const { groups } = await resolve(reading, ids.slice(0, MEMBERS));
  const byId = new Map(groups.flatMap(({ id, variants }) => variants.map((one) => [one.id, { id, one }])));
  return listed.flatMap(({ tag, id: relationId, name, searchResult }) => {
    const kind = reading.definition.relations.find((one) => one.tag === tag || one.id === relationId);
    // Products that this channel does not have are not named.
    const products = searchResult.flatMap(({ identifier }) => {
      const found = byId.get(identifier);
      return found === undefined ? [] : [describeVariant(found.id, found.one)];
    });
    return products.length === 0 ? [] : [{ relation: kind?.as ?? 'accessory', name, products }];
  });
}

const describeVariant = (id: string, { id: variant, title, url, price, media }: UcpVariant) => ({
  id,
  variant,
  title,
  price,
  ...(url !== undefined && { url }),
  ...(media && { media: media.slice(0, 1) }),
});

function describeFit(answer: Uint8Array, unknown: readonly string[]) {
  const { verdict, pairs, receipt } = JSON.parse(Buffer.from(answer).toString()) as FitAnswer;
  return {
    verdict: unknown.length > 0 && verdict !== 'does_not_fit' ? 'unknown' : verdict,
    pairs: pairs.map(({ source, target, relation, verdict: ofPair, missing }) => ({
      source,
      target,
      relation: relation.name,
      verdict: ofPair,
      ...(missing.length > 0 && { missing }),
    })),
    ...(unknown.length > 0 && { unknown }),
    receipt: receipt.hash,
  };
}

const isPriced =
  ({ price: { min = 0, max = Number.POSITIVE_INFINITY } = {} }: UcpFilters) =>
  ({ price: { amount } }: UcpVariant): boolean =>
    amount >= min && amount <= max;

/** A category by its path, or by the name of one of its levels. */
const isWithin =
  ({ categories = [] }: UcpFilters) =>
  ({ categories: own = [] }: UcpVariant): boolean =>
    categories.length === 0 ||
    own.some(({ value }) =>
      categories.some(
        (one) =>
          value === one ||
          value.startsWith(one + CATEGORY_LEVEL) ||
          value.split(CATEGORY_LEVEL).includes(one),
      ),
    );
