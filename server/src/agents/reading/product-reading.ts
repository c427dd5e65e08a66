import type { CatalogSnapshots } from '../../catalog/catalog.ts';
import { type ReadProduct, readProducts } from '../../catalog/lookup/lookup.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { SearchQuestion } from '../../search/hits/hits.ts';
import type { IndexOutcome, SearchAnswer } from '../../search/search.ts';
import type { Budget, Operation } from '../../storage/threads/threads.ts';
import { countTokens, fitFrom, fitPage, shortenText, shortenValue, TOKENS } from '../tool.ts';

const FACETS = 8;
const FACET_VALUES = 4;
const LINK = 200;
/** The most names that one question looks up; each takes a search. */
const NAMES = 10;
/** The most hits of the search for a name. */
const NAMESAKES = 20;

interface SearchOrder<Question = SearchQuestion> {
  readonly projectId: number;
  readonly question: Question;
}

type Search = (
  order: SearchOrder,
  budget: Budget,
) => IndexOutcome<Uint8Array> | Promise<IndexOutcome<Uint8Array>>;

export type FoundPage = Awaited<ReturnType<typeof findPage>>;
export type ShownProducts = Awaited<ReturnType<typeof showProducts>>;
export type ComparedProducts = Awaited<ReturnType<typeof compareProducts>>;

interface ProductOrder {
  readonly projectId: number;
  readonly identifiers: readonly string[];
  readonly offset?: number;
}

/** @param search the search operation of this thread */
export function productOperations(snapshots: CatalogSnapshots, search: Operation): Record<string, Operation> {
  const onProducts =
    <Answer>(work: (read: AsyncGenerator<ReadProduct, void>, order: ProductOrder) => Promise<Answer>) =>
    (order: ProductOrder, budget: Budget) =>
      snapshots.read(order.projectId, budget, (snapshot) =>
        work(readProducts(snapshot, order.identifiers), order),
      );
  return {
    findForAgent: (order: SearchOrder, budget: Budget) =>
      searchWith(search as Search, budget, (find) => findPage(order, find)),
    findNamesForAgent: (order: SearchOrder<{ readonly names: readonly string[] }>, budget: Budget) =>
      searchWith(search as Search, budget, (find) => findNamed(order, find)),
    readForAgent: onProducts(showProducts),
    compareForAgent: onProducts(compareProducts),
  };
}

class IndexMissing extends Error {}

/** Runs work that searches several times, and collects the states of these searches. */
async function searchWith<Answer>(
  search: Search,
  budget: Budget,
  work: (find: (order: SearchOrder) => Promise<SearchAnswer>) => Promise<Answer>,
): Promise<IndexOutcome<Answer>> {
  const state = { isBehind: false, isComplete: true };
  try {
    const answer = await work(async (order) => {
      const outcome = await search(order, budget);
      if ('missing' in outcome) throw new IndexMissing(outcome.missing);
      state.isBehind ||= outcome.isBehind;
      state.isComplete &&= outcome.isComplete;
      return JSON.parse(Buffer.from(outcome.answer).toString()) as SearchAnswer;
    });
    return { answer, ...state };
  } catch (error) {
    if (error instanceof IndexMissing) return { missing: error.message };
    throw error;
  }
}

async function findPage(order: SearchOrder, search: (order: SearchOrder) => Promise<SearchAnswer>) {
  const { question } = order;
  const find = (limit: number) => search({ ...order, question: { ...question, limit } });
  const answer = await find(question.limit);
  const facets = question.cursor === undefined ? answer.facets.slice(0, FACETS).map(describeFacet) : [];
  const products = answer.items.map(describeFound);
  const fitting = fitPage(products, countTokens(JSON.stringify(facets)));
  const { total, isTotalExact, partial, facetsOf } = answer;
  const isOfSome = facets.length > 0 && facetsOf < total;
  const { nextCursor } = fitting.length < products.length ? await find(fitting.length) : answer;
  return {
    products: fitting,
    total,
    isTotalExact,
    ...(partial && { partial }),
    facets,
    ...(isOfSome && { facetsOf }),
    nextCursor,
  };
}

/** Resolves names that only one product has, so that a question with names needs no search before it. */
async function findNamed(
  { question: { names }, ...order }: SearchOrder<{ readonly names: readonly string[] }>,
  search: (order: SearchOrder) => Promise<SearchAnswer>,
) {
  const named: { readonly name: string; readonly identifier: string }[] = [];
  for (const name of names.slice(0, NAMES)) {
    const { items } = await search({ ...order, question: { q: name, limit: NAMESAKES } });
    const [match, another] = items.filter((product) => product.name.toLowerCase() === name.toLowerCase());
    if (match !== undefined && another === undefined) named.push({ name, identifier: match.identifier });
  }
  return named;
}

type Named = Pick<SearchAnswer['items'][number], 'identifier' | 'name' | 'category' | 'link'>;

const describeFound = ({ identifier, name, category, link }: Named) => ({
  identifier,
  name: shortenText(name),
  category: category.map((level) => shortenValue(level)).slice(0, 5),
  link: link.length > LINK ? '' : link,
});

const describeFacet = ({ attribute, unitName, values, min, max }: SearchAnswer['facets'][number]) => ({
  attribute: shortenText(attribute),
  ...(unitName !== undefined && { unit: unitName }),
  values: values.slice(0, FACET_VALUES).map(({ value }) => shortenValue(value)),
  ...(min !== undefined && { min }),
  ...(max !== undefined && { max }),
});

/** The tokens for the attributes of all products in an answer. */
const ATTRIBUTE_TOKENS = 1_200;
const VALUES_SHOWN = 3;

async function showProducts(
  read: AsyncGenerator<ReadProduct, void>,
  { identifiers, offset = 0 }: ProductOrder,
) {
  const present: ReturnType<typeof describeProduct>[] = [];
  for await (const product of read) present.push(describeProduct(product));
  const otherTokens = TOKENS - Math.floor(ATTRIBUTE_TOKENS / Math.max(1, present.length));
  const described = present.map(({ values, ...product }) => {
    const { page, nextOffset } = fitFrom(values, offset, otherTokens);
    return { ...product, attributes: page, nextOffset };
  });
  const products = fitPage(described);
  const existing = new Set(present.map(({ identifier }) => identifier));
  return {
    products,
    unknown: identifiers.filter((identifier) => !existing.has(identifier)),
    notShown: described.slice(products.length).map(({ identifier }) => identifier),
  };
}

const listValues = (facts: ReadProduct['facts']): [string, string[]][] => [
  ...Map.groupBy(facts, ({ attribute }) => attribute.name)
    .entries()
    .map(([attribute, ofAttribute]): [string, string[]] => [
      attribute,
      ofAttribute.map(({ value }) => value),
    ]),
];

/** @returns the product with all its attributes, their values shortened */
function describeProduct({ product, facts }: ReadProduct) {
  const { identifier, groupIdentifier: groupId, name, productUrl: link, categories, images } = product;
  const image = images[0]?.url ?? '';
  return {
    ...describeFound({ identifier, name, link, category: categories[0]?.path ?? [] }),
    groupId,
    image: image.length > LINK ? '' : image,
    values: listValues(facts).map(describeValues),
  };
}

const describeValues = ([attribute, values]: [string, string[]]) => ({
  attribute: shortenText(attribute),
  values: values.slice(0, VALUES_SHOWN).map((value) => shortenText(value)),
});

/** @throws not_found */
async function compareProducts(
  read: AsyncGenerator<ReadProduct, void>,
  { identifiers, offset }: ProductOrder,
) {
  const products: ComparedProduct[] = [];
  for await (const { product, facts } of read)
    products.push({ identifier: product.identifier, name: product.name, values: new Map(listValues(facts)) });
  const missing = identifiers.filter(
    (requested) => !products.some(({ identifier }) => identifier === requested),
  );
  if (missing.length > 0) throw new ServiceError('not_found', `no product ${missing.join(', ')}`);
  const all = compare(products.map(({ values }) => values));
  const named = products.map(({ identifier, name }) => ({ identifier, name: shortenValue(name) }));
  const { page, nextOffset } = fitFrom(all, offset, countTokens(JSON.stringify(named)));
  return { products: named, attributes: page, total: all.length, nextOffset };
}

interface ComparedProduct {
  readonly identifier: string;
  readonly name: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

function compare(valued: readonly ComparedProduct['values'][]) {
  const attributes = [...new Set(valued.flatMap((values) => [...values.keys()]))];
  const rows = attributes.map((attribute) => {
    const values = valued.map((ofProduct) => ofProduct.get(attribute) ?? []);
    const same = new Set(values.map((some) => JSON.stringify(some.toSorted()))).size === 1;
    const shown = values.map((some) => some.slice(0, VALUES_SHOWN).map((value) => shortenValue(value)));
    return { attribute: shortenText(attribute), same, values: shown };
  });
  return rows.sort((a, b) => Number(a.same) - Number(b.same));
}
