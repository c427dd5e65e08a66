/**
 * The door of UCP: a channel that is not built but served, by the schemas of the Universal Commerce Protocol.
 * Products come from the search of the catalog, related ones from relations.
 */
import { type Static, Type } from 'typebox';
import type { Catalog } from '../../catalog/catalog.ts';
import { viewUpload } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { readAnswer } from '../../relations/answers/answers.ts';
import type { FitAnswer } from '../../relations/fit/fit.ts';
import type { Relations } from '../../relations/relations.ts';
import { type ChannelDefinition, compileChannelFilter } from '../definitions/definitions.ts';
import { isForEverybody } from '../mapping/mapping.ts';
import type { UcpProduct, UcpVariant } from './ucp-product.ts';
import { CATEGORY_LEVEL, openVariants, toDetail, toUcpProduct } from './ucp-product.ts';

export interface UcpParts {
  readonly catalog: Pick<Catalog, 'search' | 'store'>;
  readonly relations: Pick<Relations, 'answer' | 'judgeFit'>;
}

export interface UcpChannel {
  readonly project: ChosenProject;
  readonly definition: ChannelDefinition;
}

const Amount = Type.Integer({ minimum: 0 });
export const UcpFilters = Type.Object({
  /** Names, or paths separated by ` > `. */
  categories: Type.Optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 50 })),
  /** In minor units. */
  price: Type.Optional(Type.Object({ min: Type.Optional(Amount), max: Type.Optional(Amount) })),
});
export type UcpFilters = Static<typeof UcpFilters>;

const Text = Type.String({ maxLength: 1_000 });
export const ProductRequest = Type.Object({
  id: Text,
  selected: Type.Optional(Type.Array(Type.Object({ name: Text, label: Text }), { maxItems: 50 })),
  preferences: Type.Optional(Type.Array(Text, { maxItems: 50 })),
  filters: Type.Optional(UcpFilters),
  /** Identifiers or groups that the product must be usable with. */
  compatibility: Type.Optional(Type.Object({ with: Type.Array(Text, { maxItems: 50 }) })),
});

export interface UcpSearch {
  readonly query: string;
  readonly filters: UcpFilters;
  readonly offset: number;
  readonly limit: number;
}

/** Groups per read, and reads per page: if the page is not full by then, the rest comes with the next one. */
const READ = 40;
const ROUNDS = 10;
/** The most members of a group that are looked at. */
const MEMBERS = 100;

export function createUcp({ catalog, relations }: UcpParts) {
  async function open({ project, definition }: UcpChannel, signal: AbortSignal) {
    const { attributes } = await catalog.store.getOntology(project.id);
    const test = compileChannelFilter(definition.filter, attributes);
    const toVariant = openVariants(definition, attributes);
    const make = (product: UploadedProduct): UcpVariant | undefined =>
      isForEverybody(product) && test(viewUpload(product)) ? toVariant(product) : undefined;
    return { make, find: openSearch(catalog, { project, definition }, signal) };
  }

  /** @returns variants by the products that these identifiers or groups name, as whole groups */
  async function resolve(channel: UcpChannel, ids: readonly string[], signal: AbortSignal) {
    const { make, find } = await open(channel, signal);
    const whole = { offset: 0, limit: MEMBERS };
    const named = await find({ named: ids }, whole);
    const groupIds = named.groups.map(([first]) => first?.groupIdentifier ?? '');
    const { groups, isPartial } = groupIds.length === 0 ? named : await find({ named: groupIds }, whole);
    const products = groups.flatMap((members) => {
      const id = members[0]?.groupIdentifier ?? '';
      const own = members.filter(({ groupIdentifier }) => groupIdentifier === id);
      const variants = own.flatMap((one) => make(one) ?? []);
      return variants.length === 0 ? [] : [{ id, variants }];
    });
    return { products, isPartial };
  }

  return {
    async search(channel: UcpChannel, search: UcpSearch, signal: AbortSignal) {
      const { make, find } = await open(channel, signal);
      const toProduct = (members: readonly UploadedProduct[]): UcpProduct[] => {
        const variants = members.flatMap((one) => make(one) ?? []).filter(isPriced(search.filters));
        const id = members[0]?.groupIdentifier ?? '';
        return variants.length === 0 ? [] : [toUcpProduct(id, variants)];
      };
      const page: { products: UcpProduct[]; nextOffset?: number | undefined; isPartial: boolean } = {
        products: [],
        isPartial: false,
      };
      for await (const { members, ...place } of listGroups(find, search)) {
        if (page.products.length === search.limit) break;
        page.products.push(...toProduct(members));
        Object.assign(page, place);
      }
      return page;
    },

    /** @returns products with the named variant or their best one, and the identifiers that led to them */
    async lookup(
      channel: UcpChannel,
      { ids, filters }: { readonly ids: readonly string[]; readonly filters: UcpFilters },
      signal: AbortSignal,
    ) {
      const { products, isPartial } = await resolve(channel, ids, signal);
      const found = products.flatMap(({ id, variants }) => {
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
        found.flatMap(({ variants }) => variants.flatMap((one) => one.inputs.map((input) => input.id))),
      );
      return { products: found, unknown: ids.filter((id) => !met.has(id)), isPartial };
    },

    /** @returns undefined for a product that the channel does not have */
    async product(
      channel: UcpChannel,
      { id, selected = [], preferences = [], filters = {}, compatibility }: Static<typeof ProductRequest>,
      signal: AbortSignal,
    ) {
      const { products } = await resolve(channel, [id], signal);
      const [found] = products;
      const variants = found?.variants.filter(isPriced(filters)).filter(isWithin(filters)) ?? [];
      if (found === undefined || variants.length === 0) return undefined;
      const variant = variants.find((one) => one.id === id);
      const choice = { selected, preferences, variant: found.id === id ? undefined : variant };
      const detail = toDetail(found.id, variants, choice);
      const shown = detail.variants[0]?.id ?? id;
      // Part of the compatibility extension.
      const related = await relate(channel, shown, signal);
      const fit = compatibility && (await judge(channel, [shown, ...compatibility.with], signal));
      return { ...detail, compatibility: { related, ...(fit && { fit }) } };
    },
  };

  async function relate(channel: UcpChannel, identifier: string, signal: AbortSignal) {
    const { project, definition } = channel;
    if (definition.relations.length === 0) return [];
    const request = {
      identifiers: [identifier],
      form: 'single' as const,
      explain: false,
      includeTags: definition.relations.flatMap(({ tag, limit }) =>
        tag === undefined ? [] : [{ tag, limitPerRelation: limit }],
      ),
      includeRelations: definition.relations.flatMap(({ id, limit }) =>
        id === undefined ? [] : [{ id, limit }],
      ),
    };
    const listed = await readAnswer(await relations.answer(project, request, signal));
    const ids = [...new Set(listed.flatMap(({ searchResult }) => searchResult.map((one) => one.identifier)))];
    const { products } =
      ids.length === 0 ? { products: [] } : await resolve(channel, ids.slice(0, MEMBERS), signal);
    const byId = new Map(
      products.flatMap(({ id, variants }) => variants.map((one) => [one.id, { id, one }])),
    );
    return listed.flatMap(({ tag, id: relationId, name, searchResult }) => {
      const kind = definition.relations.find((one) => one.tag === tag || one.id === relationId);
      // Products that this channel does not have are not named.
      const shown = searchResult.flatMap(({ identifier: related }) => {
        const found = byId.get(related);
        return found === undefined ? [] : [describeRelated(found.id, found.one)];
      });
      return shown.length === 0 ? [] : [{ relation: kind?.as ?? 'accessory', name, products: shown }];
    });
  }

  /** Products that the channel does not have are unknown to its callers. */
  async function judge(channel: UcpChannel, ids: readonly string[], signal: AbortSignal) {
    if (ids.length < 2) return undefined;
    const { products } = await resolve(channel, ids, signal);
    const items = ids.flatMap((id) => {
      const product = products.find((one) => isNamed(one, id));
      const variant = product?.variants.find((one) => one.id === id) ?? product?.variants[0];
      return variant === undefined ? [] : [{ identifier: variant.id, quantity: 1 }];
    });
    const unknown = ids.filter((id) => !products.some((one) => isNamed(one, id)));
    const question = { projectId: channel.project.id, items, tags: [], relations: [], alternatives: 0 };
    const { buffer } = await relations.judgeFit(question, signal);
    const { verdict, pairs, receipt } = JSON.parse(Buffer.from(buffer).toString()) as FitAnswer;
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
}

const openSearch =
  ({ search }: UcpParts['catalog'], { project, definition }: UcpChannel, signal: AbortSignal) =>
  async ({ query = '', categories = [], named }: FoundBy, range: { offset: number; limit: number }) => {
    const values = categories.map((one) => one.replaceAll(CATEGORY_LEVEL, '#'));
    const filters = values.length === 0 ? [] : [{ name: 'category', values }];
    const question = { query, filters, filter: JSON.stringify(definition.filter), named, ...range };
    const { groups, ...found } = await search.findUploads(project.id, question, signal);
    const read = (text: string) => JSON.parse(text) as UploadedProduct;
    return { groups: groups.map((texts) => texts.map(read)), ...found };
  };

/** Groups from an offset on, each with the next offset; undefined after the last one. */
async function* listGroups(find: ReturnType<typeof openSearch>, { query, filters, offset }: UcpSearch) {
  const { categories = [] } = filters;
  for (let round = 0; round < ROUNDS; round += 1) {
    const from = offset + round * READ;
    const { groups, isPartial } = await find({ query, categories }, { offset: from, limit: READ });
    for (const [at, members] of groups.entries()) {
      const isLast = at === groups.length - 1 && groups.length < READ;
      yield { members, isPartial, nextOffset: isLast ? undefined : from + at + 1 };
    }
    if (groups.length < READ) return;
  }
}

interface FoundBy {
  readonly query?: string;
  readonly categories?: readonly string[];
  readonly named?: readonly string[];
}

const isNamed = ({ id, variants }: { id: string; variants: readonly UcpVariant[] }, named: string) =>
  id === named || variants.some((one) => one.id === named);

const describeRelated = (id: string, { id: variant, title, url, price, media }: UcpVariant) => ({
  id,
  variant,
  title,
  price,
  ...(url !== undefined && { url }),
  ...(media && { media: media.slice(0, 1) }),
});

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
