import { createRelata, type Relata, type Relation } from '@relata/client';
import { t } from '../languages/text.ts';
import {
  isSearch,
  PRODUCT_FILTERS,
  type ProductFilters,
  toListing,
  toQuestion,
} from '../products/finding/product-filters.ts';
import { readPath } from '../rules/category-path.ts';
import { toCurl } from '../rules/curl.ts';
import { readSet } from '../rules/fit.ts';
import type { Place } from './paged.ts';

/** A call that returns the data of a page. All samples are written from this one description. */
export interface PageCall {
  readonly words: string;
  /** The method of the TypeScript client, with its arguments. */
  readonly method: string;
  readonly takes: readonly unknown[];
  /** The request as the client sends it: path and query. */
  readonly request: { readonly method: string; readonly url: string; readonly body?: string };
}

const LIMIT = 50;

/** @returns the calls of a page for which `hasPageCalls` is true */
export function listPageCalls({ parts, query }: Place, relations: readonly Relation[]): PageCall[] {
  const [, id, list = '', itemId] = parts;
  const page = { id: Number(id), query, relations };
  return (itemId === undefined ? LISTS[list]?.(page) : ONES[list]?.({ ...page, itemId })) ?? [];
}

/** Makes a call with a client that sends nothing, and records the call and the request. */
function note(words: string, ask: (relata: Relata) => unknown): PageCall {
  let request: PageCall['request'] = { method: '', url: '' };
  let noted = { method: '', takes: [] as readonly unknown[] };
  const fetch = (url: unknown, { method = 'GET', body }: RequestInit = {}) => {
    request = { method, url: String(url), ...(typeof body === 'string' && { body }) };
    return new Promise<Response>(() => {});
  };
  const watched = new Proxy(createRelata({ fetch }), {
    get: (client, group: string) =>
      new Proxy<object>(Reflect.get(client, group), {
        get:
          (methods, name: string) =>
          (...takes: unknown[]) => {
            noted = { method: `${group}.${name}`, takes };
            return Reflect.get(methods, name)(...takes);
          },
      }),
  });
  void ask(watched);
  return { words, ...noted, request };
}

interface At {
  readonly id: number;
  readonly query: URLSearchParams;
  readonly relations: readonly Relation[];
}

type OneAt = At & { readonly itemId: string };

const LISTS: Readonly<Record<string, (page: At) => PageCall[]>> = {
  '': ({ id }) => [note(t('The project'), ({ projects }) => projects.get(id))],
  products: (page) => [describeProducts(page)],
  ontology: (page) => [
    note(t('The attributes'), ({ ontology }) => ontology.get(page.id)),
    describeCoverage(page),
  ],
  relations: ({ id }) => [note(t('The relations'), ({ relations }) => relations.list(id))],
  fit({ id, query }) {
    const question = { items: readSet(query.get('items') ?? ''), alternatives: 3 };
    if (question.items.length === 0) return [];
    return [
      note(t('Whether these products fit'), ({ relations }) => relations.fit(question, { projectId: id })),
    ];
  },
  suggestions: ({ id }) => [note(t('The suggestions'), ({ suggestions }) => suggestions.list(id))],
  pipelines: ({ id }) => [note(t('The pipelines'), ({ pipelines }) => pipelines.list(id))],
  channels: ({ id }) => [note(t('The channels'), ({ channels }) => channels.list(id))],
  updates: (page) => [describeTasks(page), describeCommits(page)],
  events: () => [note(t('The endpoints'), ({ webhookEndpoints }) => webhookEndpoints.list())],
  'api-access': ({ id }) => [
    note(t('Failed and slow requests'), ({ projects }) => projects.keptRequests(id)),
  ],
  settings: ({ id }) => [note(t('The project'), ({ projects }) => projects.get(id))],
};

const ONES: Readonly<Record<string, (page: OneAt) => PageCall[]>> = {
  products: describeProduct,
  relations: describeRelation,
  updates: ({ itemId }) => [note(t('The task'), ({ tasks }) => tasks.get(itemId))],
  pipelines({ id, itemId }) {
    const pipeline = { projectId: id, pipelineId: Number(itemId) };
    return [
      note(t('The runs'), ({ pipelines }) => pipelines.runs(pipeline, { limit: LIMIT })),
      note(t('The pipeline'), ({ pipelines }) => pipelines.get(pipeline)),
    ];
  },
  channels({ id, itemId }) {
    const channel = { projectId: id, channelId: Number(itemId) };
    return [
      note(t('The builds'), ({ channels }) => channels.builds(channel, { limit: LIMIT })),
      note(t('The channel'), ({ channels }) => channels.get(channel)),
    ];
  },
  events: ({ itemId }) => [
    note(t('The deliveries'), ({ webhookEndpoints }) =>
      webhookEndpoints.deliveries(Number(itemId), { limit: LIMIT }),
    ),
  ],
};

function describeProducts({ id, query }: At): PageCall {
  const filters = Object.fromEntries(
    PRODUCT_FILTERS.map((name) => [name, query.get(name) ?? '']),
  ) as ProductFilters;
  return note(t('The products'), ({ products }) =>
    isSearch(filters)
      ? products.findManaged(id, { ...toQuestion(filters), limit: LIMIT })
      : products.list(id, { ...toListing(filters), limit: LIMIT }),
  );
}

function describeProduct({ id, itemId: identifier, relations }: OneAt): PageCall[] {
  const tags = [...new Set(relations.filter(({ enabled }) => enabled).map(({ tag }) => tag))];
  const includeTags = tags.map((tag) => ({ tag, limitPerRelation: 10 }));
  const related = { projectId: id, includeTags, explain: true };
  return [
    note(t('The product as it was sent, and as it is returned'), ({ products }) =>
      products.open(id, identifier),
    ),
    note(t('The product, as a shop reads it'), ({ products }) =>
      products.lookUpOne(identifier, { projectId: id }),
    ),
    ...(tags.length === 0
      ? []
      : [
          note(t('Its related products, with reasons'), (client) =>
            client.relations.relatedTo(identifier, related),
          ),
        ]),
  ];
}

/** The fields of a definition. The service sets the other fields. */
const DEFINED = [
  ...['name', 'tag', 'kind', 'description', 'enabled', 'twoWay', 'source', 'target', 'match', 'sort'],
  ...['names', 'excludeSameGroup', 'constraint', 'total', 'operator', 'limit'],
];

function describeRelation({ id, itemId, relations }: OneAt): PageCall[] {
  const relation = relations.find((candidate) => String(candidate.id) === itemId);
  if (relation === undefined) return [];
  const entries = Object.entries(relation).filter(([name]) => DEFINED.includes(name));
  const definition = Object.fromEntries(entries) as Partial<Relation> as Relation;
  return [
    note(t('The preview of the stored relation'), (client) =>
      client.relations.preview(id, definition, { cards: true }),
    ),
    note(t('The relation'), (client) => client.relations.get(id, relation.id)),
  ];
}

function describeTasks({ id, query }: At): PageCall {
  const status = query.get('status') as 'FINISHED' | null;
  return note(t('The tasks'), ({ tasks }) =>
    tasks.list({ projectId: id, limit: LIMIT, ...(status && { status }) }),
  );
}

function describeCommits({ id, query }: At): PageCall {
  const commitId = Number(query.get('commit'));
  if (!Number.isInteger(commitId) || commitId === 0)
    return note(t('What can be undone'), ({ commits }) => commits.list(id));
  return note(t('The products of the change'), ({ commits }) => commits.changes({ projectId: id, commitId }));
}

function describeCoverage({ id, query }: At): PageCall {
  const category = readPath(query.get('category') ?? '');
  return note(t('Its coverage'), ({ ontology }) =>
    category.length > 0 ? ontology.coverage(id, { category }) : ontology.coverage(id),
  );
}

export const SAMPLES = { curl: writeCurl, TypeScript: writeTypeScript, PHP: writePhp } as const;

export type SampleLanguage = keyof typeof SAMPLES;

function writeCurl({ request: { body, ...sent } }: PageCall): string {
  return toCurl(
    body === undefined ? sent : { ...sent, body: JSON.stringify(JSON.parse(body), undefined, 2) },
  );
}

interface Notation {
  readonly list: readonly [open: string, close: string];
  readonly object: readonly [open: string, close: string];
  readonly empty: string;
  text(value: string): string;
  member(name: string, value: string): string;
}

/** The width of the dialog, in characters, without line breaks. */
const WIDTH = 66;

function write(value: unknown, notation: Notation, indent = ''): string {
  if (typeof value === 'string') return notation.text(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((element) => write(element, notation, deeper))
    : Object.entries(value).map(([name, member]) => notation.member(name, write(member, notation, deeper)));
  if (parts.length === 0) return Array.isArray(value) ? '[]' : notation.empty;
  const [open, close] = Array.isArray(value) ? notation.list : notation.object;
  return enclose(parts, [open, close], indent);
}

/** Writes short parts on one line, and each longer part on its own line. */
function enclose(parts: readonly string[], [open, close]: readonly [string, string], indent: string): string {
  const line = parts.join(', ');
  if (indent.length + line.length <= WIDTH && !line.includes('\n')) {
    const space = open === '{' ? ' ' : '';
    return `${open}${space}${line}${space}${close}`;
  }
  return `${open}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${close}`;
}

/** A single argument stays on the line of its bracket. */
const encloseGiven = (given: readonly string[]) =>
  given.length === 1 ? `(${given[0]})` : enclose(given, ['(', ')'], '');

const quoteName = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteTs(name));
const quoteTs = (text: string) =>
  text.includes("'") || /[\\\n\r\u2028\u2029]/.test(text) ? JSON.stringify(text) : `'${text}'`;

const TYPESCRIPT: Notation = {
  list: ['[', ']'],
  object: ['{', '}'],
  empty: '{}',
  text: quoteTs,
  member: (name, value) => `${quoteName(name)}: ${value}`,
};

function writeTypeScript({ method, takes }: PageCall): string {
  const given = encloseGiven(
    takes.map((argument) => write(argument, TYPESCRIPT, takes.length > 1 ? '  ' : '')),
  );
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
  // An empty PHP array would be sent as a list.
  list: ['[', ']'],
  object: ['[', ']'],
  empty: '(object) []',
  text: quotePhp,
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

/** The parameters of the PHP client, in the order of the TypeScript client. Options are also passed by name. */
const PHP_NAMES: Readonly<Record<string, readonly string[]>> = {
  'products.lookUpOne': ['identifier'],
  'relations.relatedTo': ['identifier'],
  'tasks.list': [],
  'tasks.get': ['id'],
};

/** Writes named parameters. If the client has no method for the operation, the sample uses `call`. */
function writePhpCall({ method, takes, request: sent }: PageCall): string {
  const names = PHP_NAMES[method];
  if (names !== undefined) {
    const given = takes.flatMap((argument, index) => {
      const name = names[index];
      return name === undefined ? Object.entries(argument as object) : [[name, argument] as const];
    });
    const named = given.map(([name, value]) => `${name}: ${write(value, PHP, '  ')}`);
    return `$relata->${method.replace('.', '->')}${encloseGiven(named)}`;
  }
  const [path = '', search] = sent.url.split('?');
  const query = Object.fromEntries(new URLSearchParams(search));
  const given = [
    ...[quotePhp(sent.method), quotePhp(path)],
    ...(search || sent.body ? [search ? write(query, PHP, '  ') : '[]'] : []),
    ...(sent.body ? [write(JSON.parse(sent.body), PHP, '  ')] : []),
  ];
  return `$relata->call${encloseGiven(given)}`;
}
