import { type OperationName, operations, type Relation } from '@relata/client';
import { t } from '../languages/text.ts';
import { isSearch, PRODUCT_FILTERS, type ProductFilters } from '../products/finding/product-filters.ts';
import { toListing, toQuestion } from '../products/finding/product-question.ts';
import { readPath } from '../rules/category-path.ts';
import { toCurl } from '../rules/curl.ts';
import { readSet } from '../rules/fit.ts';
import type { Place } from './paged.ts';

/** A call that gives what a page shows. All samples are written from this one description. */
export interface PageCall {
  /** What it gives, in words. */
  readonly words: string;
  readonly operation: OperationName;
  readonly path?: Readonly<Record<string, string | number>>;
  /** Lists and objects are sent as JSON. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The method of the TypeScript client, with what it takes. */
  readonly method: string;
  readonly takes: readonly unknown[];
  /** The method of the PHP client, by named parameters; without one `call` asks for the operation. */
  readonly php?: { readonly method: string; readonly takes: Readonly<Record<string, unknown>> };
}

const LIMIT = 50;

/** @returns the calls of a page that `hasPageCalls` */
export function listPageCalls({ parts, query }: Place, relations: readonly Relation[]): PageCall[] {
  const [, id, list = '', one] = parts;
  const at = { id: Number(id), query, relations };
  return (one === undefined ? LISTS[list]?.(at) : ONES[list]?.({ ...at, one })) ?? [];
}

interface At {
  readonly id: number;
  readonly query: URLSearchParams;
  readonly relations: readonly Relation[];
}

type OneAt = At & { readonly one: string };

/** A call that names the project in its path and takes nothing else. */
const plain = (id: number, call: Pick<PageCall, 'words' | 'operation' | 'method'>): PageCall => ({
  ...{ ...call, path: { id }, takes: [id] },
});

const LISTS: Readonly<Record<string, (at: At) => PageCall[]>> = {
  '': ({ id }) => [
    plain(id, { words: t('The project'), operation: 'getManagementProjectsById', method: 'projects.get' }),
  ],
  products: (at) => [describeProducts(at)],
  ontology: (at) => [
    plain(at.id, {
      words: t('The attributes'),
      operation: 'getManagementProjectsByIdOntology',
      method: 'ontology.get',
    }),
    describeCoverage(at),
  ],
  relations: ({ id }) => [
    plain(id, {
      words: t('The relations'),
      operation: 'getManagementProjectsByIdRelations',
      method: 'relations.list',
    }),
  ],
  fit: ({ id, query }) => {
    const body = { items: readSet(query.get('items') ?? ''), alternatives: 3 };
    const words = t('Whether these products fit');
    if (body.items.length === 0) return [];
    return [
      {
        ...{ words, operation: 'postSearchRelationsFit', query: { projectId: id }, body },
        ...{ method: 'relations.fit', takes: [body, { projectId: id }] },
      },
    ];
  },
  suggestions: ({ id }) => [
    plain(id, {
      words: t('The suggestions'),
      operation: 'getManagementProjectsByIdSuggestions',
      method: 'suggestions.list',
    }),
  ],
  pipelines: ({ id }) => [
    plain(id, {
      words: t('The pipelines'),
      operation: 'getManagementProjectsByIdPipelines',
      method: 'pipelines.list',
    }),
  ],
  channels: ({ id }) => [
    plain(id, {
      words: t('The channels'),
      operation: 'getManagementProjectsByIdChannels',
      method: 'channels.list',
    }),
  ],
  updates: (at) => [describeTasks(at), describeCommits(at)],
  events: () => [
    {
      words: t('The endpoints'),
      operation: 'getManagementWebhookEndpoints',
      method: 'webhookEndpoints.list',
      takes: [],
    },
  ],
  'api-access': ({ id }) => [
    plain(id, {
      words: t('Failed and slow requests'),
      operation: 'getManagementProjectsByIdRequests',
      method: 'projects.keptRequests',
    }),
  ],
  settings: ({ id }) => [
    plain(id, { words: t('The project'), operation: 'getManagementProjectsById', method: 'projects.get' }),
  ],
};

const ONES: Readonly<Record<string, (at: OneAt) => PageCall[]>> = {
  products: describeProduct,
  relations: describeRelation,
  updates: ({ one }) => [
    {
      words: t('The task'),
      operation: 'getTasksById',
      path: { id: one },
      method: 'tasks.get',
      takes: [one],
      php: { method: 'tasks->get', takes: { id: one } },
    },
  ],
  pipelines: ({ id, one }) => {
    const place = { projectId: id, pipelineId: Number(one) };
    const path = { id, pipelineId: place.pipelineId };
    const page = { limit: LIMIT };
    return [
      {
        ...{ words: t('The runs'), method: 'pipelines.runs', path, query: page, takes: [place, page] },
        operation: 'getManagementProjectsByIdPipelinesByPipelineIdRuns',
      },
      {
        ...{ words: t('The pipeline'), method: 'pipelines.get', path, takes: [place] },
        operation: 'getManagementProjectsByIdPipelinesByPipelineId',
      },
    ];
  },
  channels: ({ id, one }) => {
    const place = { projectId: id, channelId: Number(one) };
    const path = { id, channelId: place.channelId };
    const page = { limit: LIMIT };
    return [
      {
        ...{ words: t('The builds'), method: 'channels.builds', path, query: page, takes: [place, page] },
        operation: 'getManagementProjectsByIdChannelsByChannelIdBuilds',
      },
      {
        ...{ words: t('The channel'), method: 'channels.get', path, takes: [place] },
        operation: 'getManagementProjectsByIdChannelsByChannelId',
      },
    ];
  },
  events: ({ one }) => {
    const page = { limit: LIMIT };
    const asked = { path: { id: Number(one) }, query: page, takes: [Number(one), page] };
    return [
      {
        ...{ words: t('The deliveries'), method: 'webhookEndpoints.deliveries', ...asked },
        operation: 'getManagementWebhookEndpointsByIdDeliveries',
      },
    ];
  },
};

/** As the filters in the address say: hits of a search, or a list by identifier. */
function describeProducts({ id, query }: At): PageCall {
  const filters = Object.fromEntries(
    PRODUCT_FILTERS.map((name) => [name, query.get(name) ?? '']),
  ) as ProductFilters;
  const isFound = isSearch(filters);
  const given = { ...(isFound ? toQuestion(filters) : toListing(filters)), limit: LIMIT };
  return {
    ...{ words: t('The products'), path: { id }, query: given, takes: [id, given] },
    ...(isFound
      ? { method: 'products.findManaged', operation: 'getManagementProjectsByIdProductsSearch' }
      : { method: 'products.list', operation: 'getManagementProjectsByIdProducts' }),
  };
}

function describeProduct({ id, one: identifier, relations }: OneAt): PageCall[] {
  const tags = [...new Set(relations.filter(({ enabled }) => enabled).map(({ tag }) => tag))];
  const includeTags = tags.map((tag) => ({ tag, limitPerRelation: 10 }));
  const related = { projectId: id, includeTags, explain: true };
  return [
    {
      ...{ words: t('The product, as it was sent and is answered'), path: { id, identifier } },
      operation: 'getManagementProjectsByIdProductsByIdentifier',
      ...{ method: 'products.open', takes: [id, identifier] },
    },
    {
      ...{ words: t('The product, as a shop reads it'), query: { identifier, projectId: id } },
      operation: 'getProductServiceProductBySku',
      ...{ method: 'products.lookUpOne', takes: [identifier, { projectId: id }] },
      php: { method: 'products->lookUpOne', takes: { identifier, projectId: id } },
    },
    ...(tags.length === 0
      ? []
      : [
          {
            ...{ words: t('Its related products, with reasons'), query: { identifier, ...related } },
            operation: 'getSearchRelationsResult',
            ...{ method: 'relations.relatedTo', takes: [identifier, related] },
            php: { method: 'relations->relatedTo', takes: { identifier, ...related } },
          } as const,
        ]),
  ];
}

/** What makes a definition; the rest the service sets. */
const DEFINED = [
  ...['name', 'tag', 'kind', 'description', 'enabled', 'twoWay', 'source', 'target', 'match', 'sort'],
  ...['names', 'excludeSameGroup', 'constraint', 'total', 'operator', 'limit'],
];

function describeRelation({ id, one, relations }: OneAt): PageCall[] {
  const relation = relations.find((known) => String(known.id) === one);
  if (relation === undefined) return [];
  const body = Object.fromEntries(Object.entries(relation).filter(([name]) => DEFINED.includes(name)));
  const path = { id, relationId: relation.id };
  return [
    {
      ...{ words: t('The preview of the stored relation'), path: { id }, query: { cards: true }, body },
      operation: 'postManagementProjectsByIdRelationsPreview',
      ...{ method: 'relations.preview', takes: [id, body, { cards: true }] },
    },
    {
      ...{ words: t('The relation'), path, method: 'relations.get', takes: [id, relation.id] },
      operation: 'getManagementProjectsByIdRelationsByRelationId',
    },
  ];
}

function describeTasks({ id, query }: At): PageCall {
  const status = query.get('status');
  const asked = { projectId: id, limit: LIMIT, ...(status && { status }) };
  return {
    ...{ words: t('The tasks'), operation: 'getTasks', query: asked, method: 'tasks.list', takes: [asked] },
    php: { method: 'tasks->list', takes: asked },
  };
}

function describeCommits({ id, query }: At): PageCall {
  const commit = Number(query.get('commit'));
  if (!Number.isInteger(commit) || commit === 0)
    return plain(id, {
      words: t('What can be undone'),
      operation: 'getManagementProjectsByIdCommits',
      method: 'commits.list',
    });
  return {
    ...{ words: t('The products of the change'), path: { id, commitId: commit } },
    operation: 'getManagementProjectsByIdCommitsByCommitIdProducts',
    ...{ method: 'commits.changes', takes: [{ projectId: id, commitId: commit }] },
  };
}

/** Of all products, or of the category whose coverage is looked at. */
function describeCoverage({ id, query }: At): PageCall {
  const category = readPath(query.get('category') ?? '');
  const operation = 'getManagementProjectsByIdOntologyCoverage';
  const call = plain(id, { words: t('Its coverage'), operation, method: 'ontology.coverage' });
  return category.length > 0 ? { ...call, query: { category }, takes: [id, { category }] } : call;
}

export const SAMPLES = { curl: writeCurl, TypeScript: writeTypeScript, PHP: writePhp } as const;

export type SampleLanguage = keyof typeof SAMPLES;

function fillPath({ operation, path = {} }: PageCall): { method: string; path: string } {
  const [method, template] = operations[operation];
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  return { method, path: filled };
}

const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function writeCurl(call: PageCall): string {
  const { method, path } = fillPath(call);
  const query = new URLSearchParams(
    Object.entries(call.query ?? {}).map(([name, value]) => [name, toText(value)]),
  );
  return toCurl({
    ...{ method, url: query.size > 0 ? `${path}?${query}` : path },
    ...(call.body !== undefined && { body: JSON.stringify(call.body, null, 2) }),
  });
}

/** How a language writes a value. */
interface Notation {
  readonly list: readonly [open: string, close: string];
  readonly object: readonly [open: string, close: string];
  readonly empty: string;
  text(value: string): string;
  member(name: string, value: string): string;
}

/** As wide as the dialog shows without breaking a line. */
const WIDTH = 66;

function write(value: unknown, notation: Notation, indent = ''): string {
  if (typeof value === 'string') return notation.text(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => write(one, notation, deeper))
    : Object.entries(value).map(([name, one]) => notation.member(name, write(one, notation, deeper)));
  if (parts.length === 0) return Array.isArray(value) ? '[]' : notation.empty;
  const [open, close] = Array.isArray(value) ? notation.list : notation.object;
  return enclose(parts, [open, close], indent);
}

/** In a line where they are short, else a line each. */
function enclose(parts: readonly string[], [open, close]: readonly [string, string], indent: string): string {
  const line = parts.join(', ');
  if (indent.length + line.length <= WIDTH && !line.includes('\n')) {
    const space = open === '{' ? ' ' : '';
    return `${open}${space}${line}${space}${close}`;
  }
  return `${open}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${close}`;
}

/** A single one stands where the bracket is. */
const encloseGiven = (given: readonly string[]) =>
  given.length === 1 ? `(${given[0]})` : enclose(given, ['(', ')'], '');

const quoteName = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteTs(name));
const quoteTs = (text: string) =>
  text.includes("'") || /[\\\n\r\u2028\u2029]/.test(text) ? JSON.stringify(text) : `'${text}'`;

const TYPESCRIPT: Notation = {
  ...{ list: ['[', ']'], object: ['{', '}'], empty: '{}', text: quoteTs },
  member: (name, value) => `${quoteName(name)}: ${value}`,
};

function writeTypeScript({ method, takes }: PageCall): string {
  const given = encloseGiven(takes.map((one) => write(one, TYPESCRIPT, takes.length > 1 ? '  ' : '')));
  return `import { createRelata } from '@relata/client';

const relata = createRelata({
  url: process.env.RELATA_URL,
  key: process.env.RELATA_API_KEY,
});

const answer = await relata.${method}${given};
console.log(answer);`;
}

const quotePhp = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;

const PHP: Notation = {
  // An empty array would be sent as a list.
  ...{ list: ['[', ']'], object: ['[', ']'], empty: '(object) []', text: quotePhp },
  member: (name, value) => `${quotePhp(name)} => ${value}`,
};

function writePhp(call: PageCall): string {
  return `<?php

require 'vendor/autoload.php';

use GuzzleHttp\\Client;
use GuzzleHttp\\Psr7\\HttpFactory;
use Relata\\Relata;

$factory = new HttpFactory();
$http = new Client();
$relata = new Relata(getenv('RELATA_URL'), getenv('RELATA_API_KEY'), $http, $factory, $factory);

$answer = ${writePhpCall(call)};
echo json_encode($answer, JSON_PRETTY_PRINT);`;
}

function writePhpCall(call: PageCall): string {
  const { php, query = {}, body } = call;
  if (php !== undefined) {
    const named = Object.entries(php.takes).map(([name, value]) => `${name}: ${write(value, PHP, '  ')}`);
    return `$relata->${php.method}${encloseGiven(named)}`;
  }
  const { method, path } = fillPath(call);
  const hasQuery = Object.keys(query).length > 0;
  const given = [
    ...[quotePhp(method), quotePhp(path)],
    ...(hasQuery || body !== undefined ? [hasQuery ? write(query, PHP, '  ') : '[]'] : []),
    ...(body === undefined ? [] : [write(body, PHP, '  ')]),
  ];
  return `$relata->call${encloseGiven(given)}`;
}
