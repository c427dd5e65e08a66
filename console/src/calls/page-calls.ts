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
  readonly sent: { readonly method: string; readonly url: string; readonly body?: string };
}

const LIMIT = 50;

/** @returns the calls of a page that `hasPageCalls` */
export function listPageCalls({ parts, query }: Place, relations: readonly Relation[]): PageCall[] {
  const [, id, list = '', one] = parts;
  const at = { id: Number(id), query, relations };
  return (one === undefined ? LISTS[list]?.(at) : ONES[list]?.({ ...at, one })) ?? [];
}

/** Makes a call with a client that sends nothing, and records the call and the request. */
function note(words: string, ask: (relata: Relata) => unknown): PageCall {
  let sent: PageCall['sent'] = { method: '', url: '' };
  let noted = { method: '', takes: [] as readonly unknown[] };
  const fetch = (url: unknown, { method = 'GET', body }: RequestInit = {}) => {
    sent = { method, url: String(url), ...(typeof body === 'string' && { body }) };
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
  return { words, ...noted, sent };
}

interface At {
  readonly id: number;
  readonly query: URLSearchParams;
  readonly relations: readonly Relation[];
}

type OneAt = At & { readonly one: string };

const LISTS: Readonly<Record<string, (at: At) => PageCall[]>> = {
  '': ({ id }) => [note(t('The project'), ({ projects }) => projects.get(id))],
  products: (at) => [describeProducts(at)],
  ontology: (at) => [note(t('The attributes'), ({ ontology }) => ontology.get(at.id)), describeCoverage(at)],
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
  updates: (at) => [describeTasks(at), describeCommits(at)],
  events: () => [note(t('The endpoints'), ({ webhookEndpoints }) => webhookEndpoints.list())],
  'api-access': ({ id }) => [
    note(t('Failed and slow requests'), ({ projects }) => projects.keptRequests(id)),
  ],
  settings: ({ id }) => [note(t('The project'), ({ projects }) => projects.get(id))],
};

const ONES: Readonly<Record<string, (at: OneAt) => PageCall[]>> = {
  products: describeProduct,
  relations: describeRelation,
  updates: ({ one }) => [note(t('The task'), ({ tasks }) => tasks.get(one))],
  pipelines({ id, one }) {
    const place = { projectId: id, pipelineId: Number(one) };
    return [
      note(t('The runs'), ({ pipelines }) => pipelines.runs(place, { limit: LIMIT })),
      note(t('The pipeline'), ({ pipelines }) => pipelines.get(place)),
    ];
  },
  channels({ id, one }) {
    const place = { projectId: id, channelId: Number(one) };
    return [
      note(t('The builds'), ({ channels }) => channels.builds(place, { limit: LIMIT })),
      note(t('The channel'), ({ channels }) => channels.get(place)),
    ];
  },
  events: ({ one }) => [
    note(t('The deliveries'), ({ webhookEndpoints }) =>
      webhookEndpoints.deliveries(Number(one), { limit: LIMIT }),
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

function describeProduct({ id, one: identifier, relations }: OneAt): PageCall[] {
  const tags = [...new Set(relations.filter(({ enabled }) => enabled).map(({ tag }) => tag))];
  const includeTags = tags.map((tag) => ({ tag, limitPerRelation: 10 }));
  const related = { projectId: id, includeTags, explain: true };
  return [
    note(t('The product, as it was sent and is answered'), ({ products }) => products.open(id, identifier)),
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

/** The parts of a definition; the service sets the others. */
const DEFINED = [
  ...['name', 'tag', 'kind', 'description', 'enabled', 'twoWay', 'source', 'target', 'match', 'sort'],
  ...['names', 'excludeSameGroup', 'constraint', 'total', 'operator', 'limit'],
];

function describeRelation({ id, one, relations }: OneAt): PageCall[] {
  const relation = relations.find((known) => String(known.id) === one);
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

function writeCurl({ sent: { body, ...sent } }: PageCall): string {
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
    ? value.map((one) => write(one, notation, deeper))
    : Object.entries(value).map(([name, one]) => notation.member(name, write(one, notation, deeper)));
  if (parts.length === 0) return Array.isArray(value) ? '[]' : notation.empty;
  const [open, close] = Array.isArray(value) ? notation.list : notation.object;
  return enclose(parts, [open, close], indent);
}

/** Writes short parts on one line, longer ones on a line each. */
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

/** Parameter names of the PHP client, in the order of the TypeScript client's; options go by name too. */
const PHP_NAMES: Readonly<Record<string, readonly string[]>> = {
  'products.lookUpOne': ['identifier'],
  'relations.relatedTo': ['identifier'],
  'tasks.list': [],
  'tasks.get': ['id'],
};

/** Writes named parameters; without a method in the client, `call` asks for the operation. */
function writePhpCall({ method, takes, sent }: PageCall): string {
  const names = PHP_NAMES[method];
  if (names !== undefined) {
    const given = takes.flatMap((one, at) => {
      const name = names[at];
      return name === undefined ? Object.entries(one as object) : [[name, one] as const];
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
