import { Type } from 'typebox';
import { ServiceError } from '../kernel/errors.ts';
import { optional } from '../kernel/optional.ts';
import { toWireTask } from '../tasks/tasks.ts';
import type { ComparedProducts, FoundPage, ShownProducts } from './reading/reading.ts';
import { defineTool, fitPage, Identifier, NextOffset, shortenText } from './tool.ts';

const NextCursor = Type.Union([Type.String(), Type.Null()], { description: 'null on the last page' });

const FoundProduct = Type.Object({
  identifier: Type.String(),
  name: Type.String(),
  category: Type.Array(Type.String()),
  link: Type.String(),
});
const ShortFacet = Type.Object({
  attribute: Type.String(),
  unit: optional.text(),
  values: Type.Array(Type.String(), { description: 'the most frequent values' }),
  min: optional.number(),
  max: optional.number(),
});

const PAGE = 10;

export const findProducts = defineTool({
  name: 'find_products',
  title: 'Find products',
  description:
    'Searches the catalog by words, filter and category. Facets show attributes of the hits; use them as filter of the next search.',
  input: {
    query: optional.text({
      maxLength: 500,
      description: 'words in any order; case and accents are ignored',
    }),
    filter: optional.text({
      maxLength: 8_192,
      description:
        'conditions on attributes, such as: TDP > 100 and Brand = "Corsair"; =, !=, <, <=, >, >=, ~ (contains)',
    }),
    category: optional.list(Type.String({ maxLength: 1_000 }), {
      minItems: 1,
      maxItems: 20,
      description: 'the first names of a category path',
    }),
    sort: optional.text({
      maxLength: 260,
      description: 'an attribute, such as Price or Price:desc; default: relevance',
    }),
    limit: optional.integer({ minimum: 1, maximum: 20, default: PAGE }),
    cursor: optional.text({ maxLength: 100, description: 'nextCursor of the previous page' }),
  },
  output: {
    products: Type.Array(FoundProduct),
    total: Type.Integer(),
    isTotalExact: Type.Boolean(),
    partial: Type.Optional(
      Type.Literal(true, {
        description:
          'the index is being built, so only a part of the catalog was searched: repeat the search later',
      }),
    ),
    facets: Type.Array(ShortFacet),
    facetsOf: optional.integer({
      description: 'the number of hits that the facets count, if they do not count all hits',
    }),
    nextCursor: NextCursor,
  },
  answer: ({ search, project, signal }, { query: q, limit = PAGE, ...requested }) =>
    search.askOperation<FoundPage>(
      'findForAgent',
      { projectId: project.id, question: { q, limit, ...requested } },
      signal,
    ),
});

const Values = Type.Object({ attribute: Type.String(), values: Type.Array(Type.String()) });
const READ = 10;
const NOT_SHOWN = 'identifiers that did not fit into the answer: request them again';

export const getProducts = defineTool({
  name: 'get_products',
  title: 'Read products',
  description: 'Reads products by their exact identifiers, with the values of their attributes.',
  input: {
    identifiers: Type.Array(Identifier, { minItems: 1, maxItems: READ }),
    offset: optional.integer({
      minimum: 0,
      maximum: 10_000,
      description: 'how many attributes of each product to skip; default 0',
    }),
  },
  output: {
    products: Type.Array(
      Type.Object({
        ...FoundProduct.properties,
        groupId: Type.String(),
        image: Type.String(),
        attributes: Type.Array(Values),
        nextOffset: NextOffset,
      }),
    ),
    unknown: Type.Array(Type.String(), { description: 'identifiers that no product has' }),
    notShown: Type.Array(Type.String(), { description: NOT_SHOWN }),
  },
  answer: ({ search, project, signal }, { identifiers, offset = 0 }) =>
    search.runOperation<ShownProducts>(
      'readForAgent',
      { projectId: project.id, identifiers: [...new Set(identifiers)], offset },
      signal,
    ),
});

const Compared = Type.Object({
  attribute: Type.String(),
  same: Type.Boolean(),
  values: Type.Array(Type.Array(Type.String()), {
    description: 'a list of values for each product, in the order of products',
  }),
});
const COMPARED = 5;

export const compareProducts = defineTool({
  name: 'compare_products',
  title: 'Compare products',
  description: 'Puts the attributes of 2 to 5 products side by side, those that differ first.',
  input: {
    identifiers: Type.Array(Identifier, { minItems: 2, maxItems: COMPARED }),
    offset: optional.integer({ minimum: 0, maximum: 10_000 }),
  },
  output: {
    products: Type.Array(Type.Object({ identifier: Type.String(), name: Type.String() })),
    attributes: Type.Array(Compared),
    total: Type.Integer({ description: 'the number of attributes' }),
    nextOffset: NextOffset,
  },
  async answer({ search, project, signal }, { identifiers, offset }) {
    const requested = [...new Set(identifiers)];
    if (requested.length < 2) {
      throw new ServiceError('request_invalid', '/identifiers must NOT have fewer than 2 different items');
    }
    const question = { projectId: project.id, identifiers: requested, offset };
    return search.runOperation<ComparedProducts>('compareForAgent', question, signal);
  },
});

const COUNTS = ['created', 'changed', 'unchanged', 'deleted', 'restored'] as const;
const CHANGES = 20;

export const catalogChanges = defineTool({
  name: 'catalog_changes',
  title: 'Changes of the catalog',
  description:
    'Lists the latest changes of the catalog with their counts: full updates, updates and deletions, the newest first.',
  input: {
    since: optional.integer({ minimum: 0, description: 'epoch milliseconds' }),
    cursor: optional.text({ pattern: '^\\d{1,15}$', description: 'nextCursor of the previous page' }),
  },
  output: {
    changes: Type.Array(
      Type.Object({
        task: Type.String(),
        what: Type.String(),
        status: Type.String(),
        requestedAt: Type.Integer({ description: 'epoch milliseconds' }),
        finishedAt: Type.Union([Type.Integer(), Type.Null()]),
        ...Object.fromEntries(COUNTS.map((name) => [name, optional.integer()])),
        error: optional.text(),
      }),
    ),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  },
  async answer({ tasks, project }, { since, cursor }) {
    const below = cursor === undefined ? undefined : Number(cursor);
    const listedTasks = await tasks.list({ projectId: project.id, from: since, below, limit: CHANGES + 1 });
    const page = listedTasks.slice(0, CHANGES);
    // Omits uploads, because an upload changes nothing before its commit, and the list has the commit.
    const reported = page
      .filter(({ increment, status }) => increment === 'STEP_BASED' || status === 'FAILED')
      .map((task) => ({ number: task.number, change: describeChange(task) }));
    const shown = fitPage(reported);
    const last = shown.length < reported.length ? shown.at(-1) : page.at(-1);
    const isMore = shown.length < reported.length || listedTasks.length > CHANGES;
    return {
      changes: shown.map(({ change }) => change),
      nextCursor: isMore && last !== undefined ? String(last.number) : null,
    };
  },
});

function describeChange(task: Parameters<typeof toWireTask>[0]) {
  const { id, name, taskStatus, requestTime, finishTime, error } = toWireTask(task);
  const counted = (task.result ?? {}) as Partial<Record<string, unknown>>;
  const counts = COUNTS.filter((count) => typeof counted[count] === 'number');
  return {
    task: id,
    what: shortenText(name),
    status: taskStatus,
    requestedAt: requestTime,
    finishedAt: finishTime,
    ...Object.fromEntries(counts.map((count) => [count, counted[count]])),
    ...(error && { error: shortenText(error.message) }),
  };
}
