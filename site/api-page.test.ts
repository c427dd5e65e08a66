// runs: test
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApiSchema, OpenApiDocument } from '../server/openapi/document.ts';
import { refreshApiPage, renderApiPage } from './api-page.ts';

const renderPage = (document: OpenApiDocument) => renderApiPage(document, '');
const EVIL = '<img src=x onerror="alert(1)">\'&';

function pageOf(schema: ApiSchema, schemas: Readonly<Record<string, ApiSchema>> = {}): string {
  const page = renderPage({
    openapi: '3.1.0',
    info: { title: 'Test', version: '1' },
    paths: {
      '/a': {
        post: {
          operationId: 'postA',
          requestBody: { content: { 'application/json': { schema } } },
          responses: { 200: { description: 'OK' } },
        },
      },
    },
    components: { schemas },
  });
  return page.replace(/\s+/g, ' ');
}

test('every text of the document is escaped', () => {
  const evilSchema: ApiSchema = {
    title: EVIL,
    type: EVIL,
    description: EVIL,
    format: EVIL,
    pattern: EVIL,
    default: EVIL,
    properties: {
      [EVIL]: { enum: [EVIL], description: EVIL },
      again: { $ref: `#/components/schemas/${EVIL}` },
    },
    patternProperties: { [EVIL]: { const: EVIL } },
  };
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    info: { title: EVIL, version: EVIL, description: EVIL },
    tags: [{ name: EVIL, description: EVIL }],
    paths: {
      [`/${EVIL}`]: {
        [EVIL]: {
          operationId: EVIL,
          summary: EVIL,
          description: `${EVIL} \`${EVIL}\``,
          tags: [EVIL],
          security: [{ bearer: [] }],
          'x-access': EVIL,
          parameters: [{ name: EVIL, in: EVIL, description: EVIL, required: true, schema: evilSchema }],
          requestBody: { content: { [EVIL]: { schema: evilSchema } } },
          responses: {
            200: { description: EVIL, content: { [EVIL]: { schema: evilSchema } } },
            [EVIL]: { description: EVIL },
          },
        },
      },
    },
    components: { schemas: { [EVIL]: evilSchema }, securitySchemes: { bearer: { description: EVIL } } },
  };
  const page = renderPage(document);
  assert.ok(!page.includes('<img'));
  assert.ok(!/<[^>]*onerror=/.test(page.replace(/"[^"]*"/g, '')));
  assert.ok(page.includes('&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;'));
});

test('the contents list operations by tag, in the order of the tags', () => {
  const operation = (tag: string, summary: string) => ({ tags: [tag], summary, responses: {} });
  const page = renderPage({
    openapi: '3.1.0',
    info: { title: 'Test', version: '1' },
    tags: [{ name: 'Second' }, { name: 'Unused' }, { name: 'First' }],
    paths: {
      '/a': { get: operation('First', 'read a') },
      '/b': { get: operation('Second', 'read b'), delete: operation('Extra', 'drop b') },
    },
  });
  const contents = /<nav[\s\S]*?<\/nav>/.exec(page)?.[0] ?? '';
  const order = [...contents.matchAll(/Second|Unused|First|Extra|read a|read b|drop b/g)].map(
    ([found]) => found,
  );
  assert.deepEqual(
    order.filter((one, at) => one !== order[at - 1]),
    [...['Second', 'read b', 'First', 'read a', 'Extra', 'drop b']],
  );
});

test('every link inside the page leads to an existing place', () => {
  const page = pageOf({ $ref: '#/components/schemas/Part' }, { Part: { type: 'object', properties: {} } });
  for (const [, target] of page.matchAll(/href="#([^"]*)"/g)) {
    assert.ok(page.includes(`id="${target}"`), `#${target}`);
  }
});

const shapes: readonly [rule: string, schema: ApiSchema, shown: string][] = [
  [
    'limits are shown in words',
    { type: 'string', minLength: 1, maxLength: 65_536 },
    '1 to 65,536 characters',
  ],
  [
    'an exact limit is one number',
    { type: 'array', items: {}, minItems: 2, maxItems: 2 },
    'exactly 2 elements',
  ],
  ['a single limit is shown as a minimum or maximum', { type: 'integer', minimum: 0 }, 'at least 0'],
  ['a list names its elements', { type: 'array', items: { type: 'string' } }, 'list of string'],
  [
    'constants are a choice',
    { anyOf: [{ const: 'a' }, { const: 'b' }] },
    'one of <code>&quot;a&quot;</code>, ',
  ],
  ['several types are alternatives', { type: ['string', 'null'] }, 'string or null'],
  ['variants are alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string or null'],
  [
    'an object with free names states the type of its values',
    { type: 'object', patternProperties: { '^.*$': { type: 'string' } } },
    'object, by name: string',
  ],
  ['a default is shown', { type: 'integer', default: 10 }, 'default 10'],
];

for (const [rule, schema, shown] of shapes) {
  test(`in a schema ${rule}`, () => {
    const page = pageOf({ type: 'object', properties: { field: schema } });
    const field = page.slice(page.indexOf('<code class="name">field'), page.indexOf('<h4>Answer'));
    assert.ok(field.includes(shown), field);
  });
}

test('fields are nested lists, and a named schema inside another is folded', () => {
  const page = pageOf(
    { $ref: '#/components/schemas/Bike' },
    {
      Bike: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'integer' }, part: { $ref: PART } },
      },
      Part: {
        type: 'object',
        properties: { size: { type: 'object', properties: { width: { type: 'number' } } } },
      },
    },
  );
  const body = page.slice(page.indexOf('<h4>Body'), page.indexOf('<h4>Answer'));
  assert.match(body, /id<\/code> <span class="type">integer<\/span> <span class="required">required/);
  assert.match(body, /<summary>fields of Part<\/summary><ul class="fields"><li><code class="name">size/);
  assert.match(body, /size<\/code>[\s\S]*<ul class="fields"><li><code class="name">width/);
});

test('a named schema inside a folded one is a link, and so is a schema listed at the end', () => {
  const part = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const holding = (name: string) => ({ type: 'object', properties: { inner: part(name) } });
  const page = pageOf(part('Bike'), {
    Bike: holding('Wheel'),
    Wheel: holding('Tyre'),
    Tyre: { type: 'object', properties: { width: { type: 'number' } } },
  });
  assert.deepEqual(page.match(/fields of \w+/g), ['fields of Wheel']);
  assert.equal(
    page.match(/<code class="name">inner<\/code> <span class="type"><a href="#schema-Tyre">/g)?.length,
    2,
  );
});

test('a schema that contains itself ends in a link', () => {
  const filter = {
    type: 'object',
    properties: { all: { type: 'array', items: { $ref: '#/components/schemas/Filter' } } },
  };
  const page = pageOf({ $ref: '#/components/schemas/Filter' }, { Filter: filter });
  assert.match(page, /list of <a href="#schema-Filter">Filter<\/a>/);
});

const PART = '#/components/schemas/Part';

test('the page is written if it is missing or older than its sources, and otherwise left unchanged (§10.3)', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-api-page-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'api.html');
  refreshApiPage(folder);
  const page = readFileSync(path, 'utf8');
  assert.match(page, /\/products\/batch\/initiate/);
  writeFileSync(path, 'fresh');
  refreshApiPage(folder);
  assert.equal(readFileSync(path, 'utf8'), 'fresh');
  const document = statSync(new URL('../docs/openapi.json', import.meta.url));
  utimesSync(path, document.atime, new Date(document.mtimeMs - 1_000));
  for (const suffix of ['.br', '.gz']) writeFileSync(path + suffix, 'packed of the page before');
  refreshApiPage(folder);
  assert.equal(readFileSync(path, 'utf8'), page);
  assert.deepEqual(readdirSync(folder), ['api.html'], 'the packed files of an older page are removed');
});
