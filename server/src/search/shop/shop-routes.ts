import type { FastifyReply } from 'fastify';
import { type Static, Type } from 'typebox';
import { orNull, ProjectQuery } from '../../http/answers/answers.ts';
import { joinTwins, takeNoBody } from '../../http/bodies/bodies.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type Routes, sendJson, serveRaw } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { parseJson } from '../../kernel/json-scan.ts';
import { optional } from '../../kernel/optional.ts';
import type { ProductSearch } from '../product-search.ts';
import { PartialMark } from '../search-schemas.ts';
import type { ShopFilter, SuggestionLimits } from './shop-plan.ts';

/** The parameters that connectors send. All others are ignored. Source: docs/interface §4.14. */
const count = (description: string) => optional.integer({ minimum: 0, description });
const text = (maxLength: number, description: string) => optional.text({ maxLength, description });
const UNUSED = {
  userGroup: text(1_000, 'accepted and ignored'),
  sessionId: text(1_000, 'accepted and ignored'),
  log: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Boolean(), Type.Integer()])),
};
const common = {
  query: text(500, 'words; * for all products, _#Tools#Drills for a category'),
  offset: count('how many groups to skip'),
  limit: count('groups, at most 1,000; default 20'),
  sort: text(300, 'key or name of a sorting option'),
  ...UNUSED,
};
const inQuery = {
  ...common,
  filters: text(32_768, 'JSON list of {"name","values":[{"value"}]} or {"name","min","max"}'),
  sortComplex: text(1_000, 'JSON: {"key","direction"}'),
};
const SearchQuery = Type.Object({ ...ProjectQuery.properties, ...inQuery });
const SearchBody = Type.Object({
  ...common,
  filters: Type.Optional(orNull(Type.Unknown())),
  sortComplex: Type.Optional(orNull(Type.Unknown())),
});
const SuggestionQuery = Type.Object({
  ...ProjectQuery.properties,
  query: common.query,
  limitProduct: count('default 5'),
  limitCategory: count('default 3'),
  limitBrand: count('default 2'),
  limitSearch: count('default 3'),
  limitContent: count('ignored, because there are no pages'),
  ...UNUSED,
});

const Item = Type.Object(
  {
    identifier: Type.String(),
    groupId: Type.String(),
    sxId: Type.Integer(),
    name: Type.String(),
    link: Type.String(),
    image: Type.String(),
    images: Type.Array(Type.Unknown()),
    dataPoints: Type.Array(Type.Unknown()),
    head: Type.Boolean({ description: 'true for the best product of its group' }),
    relevance: Type.Integer(),
    resultSet: Type.Null(),
  },
  { title: 'ShopProduct' },
);
const head = { type: Type.String(), name: Type.String(), totalResults: Type.Integer() };
const success = Type.Literal('success');
const extent = {
  isTotalExact: Type.Optional(Type.Literal(false, { description: 'the totals are estimates' })),
  facetsOf: optional.integer({
    description: 'how many of the products found are counted in options and suggestions',
  }),
  partial: PartialMark,
};
const ShopAnswerSchema = Type.Object(
  {
    status: success,
    totalResults: Type.Integer({ description: 'groups; an estimate for more than 5,000 products' }),
    searchResults: Type.Array(
      Type.Object({
        ...head,
        totalResultsVariants: Type.Integer({ description: 'products' }),
        totalResultsHead: Type.Integer(),
        totalResultsHeadVariants: Type.Integer(),
        results: Type.Array(Type.Array(Item)),
      }),
    ),
    interpretedQuery: Type.Object({
      original: Type.String(),
      corrected: Type.String(),
      queryWasCorrected: Type.Boolean(),
    }),
    answerText: Type.String(),
    filterOptions: Type.Array(Type.Unknown()),
    activeFilterOptions: Type.Array(Type.Unknown()),
    sortingOptions: Type.Array(Type.Unknown()),
    activeSortingOption: Type.Unknown({ description: '{} where nothing is active' }),
    redirect: Type.Null(),
    ...extent,
  },
  { title: 'ShopSearch' },
);
const SuggestionAnswer = Type.Object(
  {
    status: success,
    query: Type.String(),
    totalResults: Type.Integer(),
    resultGroups: Type.Record(Type.String(), Type.Array(Type.Unknown()), {
      description: 'Produkte, Kategorien, Marken, Suchvorschläge',
    }),
    searchResults: Type.Array(Type.Object({ ...head, results: Type.Array(Type.Unknown()) })),
    ...extent,
  },
  { title: 'ShopSuggestions' },
);

type ProductQuestion = Parameters<ProductSearch['answerShop']>[1];

const SUGGESTED: SuggestionLimits = { product: 5, category: 3, brand: 2, search: 3 };
const about = {
  tags: ['Products'],
  why: 'a thread makes the answer, which may be long',
  config: { guard: 'project', access: 'read' },
} as const;

/** Source: docs/interface §4.14. */
export const shopRoutes =
  ({ search: products }: { readonly search: ProductSearch }): Routes =>
  (server) => {
    const ask = (project: ChosenProject, question: ProductQuestion, reply: FastifyReply) =>
      whileCallerWaits(reply, async (signal) =>
        sendJson(reply, await products.answerShop(project.id, question, signal)),
      );
    const search = (project: ChosenProject, sent: Static<typeof SearchBody>, reply: FastifyReply) => {
      const { query = '', offset = 0, limit = 20 } = sent;
      const question = {
        query,
        offset,
        limit: Math.min(limit, 1_000),
        filters: readShopFilters(sent.filters),
        sort: sent.sort ?? readComplexSort(sent.sortComplex),
      };
      return ask(project, question, reply);
    };
    serveRaw(server, 'GET /search', {
      ...about,
      summary: 'The search of a shop connector',
      query: SearchQuery,
      answer: { 200: ShopAnswerSchema },
      handle: ({ project, query }, reply) => search(project, query, reply),
    });
    serveRaw(server, 'POST /search/v1/:projectId', {
      ...about,
      summary: 'The search of a shop connector, as JSON',
      body: SearchBody,
      params: Type.Object({ projectId: Type.Integer({ minimum: 1 }) }),
      query: Type.Object(inQuery),
      hooks: { preValidation: takeNoBody },
      answer: { 200: ShopAnswerSchema },
      handle: ({ project, query, body }, reply) =>
        search(project, joinTwins<Static<typeof SearchBody>>(query, body), reply),
    });
    serveRaw(server, 'GET /search/suggestions', {
      ...about,
      summary: 'Suggestions while a shopper types into the search of a shop',
      query: SuggestionQuery,
      answer: { 200: SuggestionAnswer },
      handle: ({ project, query: sent }, reply) => {
        const { query = '', limitProduct, limitCategory, limitBrand, limitSearch } = sent;
        const suggested = {
          product: most(limitProduct, 'product'),
          category: most(limitCategory, 'category'),
          brand: most(limitBrand, 'brand'),
          search: most(limitSearch, 'search'),
        };
        const range = { offset: 0, limit: suggested.product, filters: [], sort: undefined };
        return ask(project, { query, ...range, suggested }, reply);
      },
    });
  };

const most = (limit: number | undefined, kind: keyof SuggestionLimits) =>
  Math.min(limit ?? SUGGESTED[kind], 100);

/** Reads `{"key":"Price","direction":"DESC"}`, as JSON text or as an object. @throws query_invalid */
function readComplexSort(sent: unknown): string | undefined {
  if (sent === undefined || sent === null || sent === '') return undefined;
  const { key, direction = 'ASC' } = (readJson(sent) ?? {}) as { key?: unknown; direction?: unknown };
  if (typeof key === 'string' && typeof direction === 'string')
    return direction.toUpperCase() === 'DESC' ? `${key.replace(/:(asc|desc)$/i, '')}:desc` : key;
  throw new ServiceError('query_invalid', '/sortComplex must be {"key","direction"}');
}

/** Filters in the form of connectors: a JSON list, in which a value is `{"value"}`, `{"name"}` or a text. */

const FORM =
  '/filters must be a JSON list of {"name","values":[{"value"}]} or {"name","min","max"}, of at most 50 filters with 100 values';
const refuse = () => new ServiceError('query_invalid', FORM);

/** @throws query_invalid */
function readShopFilters(sent: unknown): readonly ShopFilter[] {
  const list = readJson(sent) ?? [];
  if (!Array.isArray(list) || list.length > 50) throw refuse();
  return list.map(readFilter);
}

/** @returns the value, parsed if it is JSON text; undefined if it is absent or blank @throws query_invalid */
function readJson(sent: unknown): unknown {
  if (typeof sent !== 'string') return sent ?? undefined;
  if (sent.trim() === '') return undefined;
  const parsed = parseJson(sent);
  if (parsed === undefined) throw refuse();
  return parsed;
}

function readFilter(sent: unknown): ShopFilter {
  const { name, key, values, min, max } = asObject(sent);
  const named = textOf(name ?? key);
  if (named === undefined) throw refuse();
  if (Array.isArray(values) && values.length <= 100) return { name: named, values: values.map(readValue) };
  const [from, to] = [readNumber(min, Number.MIN_SAFE_INTEGER), readNumber(max, Number.MAX_SAFE_INTEGER)];
  if (values !== undefined || (min === undefined && max === undefined)) throw refuse();
  return { name: named, min: from, max: to };
}

function readValue(sent: unknown): string {
  const { value, name, key } = typeof sent === 'object' ? asObject(sent) : { value: sent };
  const text = textOf(value ?? name ?? key);
  if (text === undefined) throw refuse();
  return text;
}

function readNumber(sent: unknown, absent: number): number {
  if (sent === undefined || sent === null || sent === '') return absent;
  const number = typeof sent === 'string' ? Number(sent) : sent;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw refuse();
  return number;
}

const asObject = (sent: unknown): Readonly<Record<string, unknown>> =>
  typeof sent === 'object' && sent !== null ? (sent as Readonly<Record<string, unknown>>) : {};

const textOf = (sent: unknown): string | undefined =>
  typeof sent === 'string' || typeof sent === 'number' || typeof sent === 'boolean'
    ? String(sent)
    : undefined;
