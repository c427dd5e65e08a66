import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { operations } from '../src/wire.ts';

const SRC = join(import.meta.dirname, '../src');

/** Reached by another method, which sends the same question in another way. */
const BY_ANOTHER: Readonly<Record<string, string>> = {
  getProductServiceProductsBySku: 'lookUp sends a POST: no limit of a URL',
  postSearchRelationsResult: 'relatedTo sends a GET',
  getSearchRelationsBulkResults: 'relatedToMany sends a POST: no limit of a URL',
  getDocs: 'a page for people',
};

test('every operation of the document has a method of its own', () => {
  const files = globSync('*.ts', { cwd: SRC }).filter(
    (name) => name !== 'wire.ts' && !name.endsWith('.test.ts'),
  );
  const text = files.map((name) => readFileSync(join(SRC, name), 'utf8')).join('\n');
  const isUsed = (name: string, path: string) =>
    new RegExp(`'${name}'`).test(text) ||
    text.includes(`'${path}'`) ||
    BY_PATH.some((one) => path.endsWith(one));
  const missing = Object.entries(operations)
    .filter(([name, [, path]]) => !(name in BY_ANOTHER) && !isUsed(name, path))
    .map(([name]) => name);
  assert.deepEqual(missing, []);
});

/** Streams and answers whose headers are needed go by their path. */
const BY_PATH = ['/report', '/events', '/ontology', '/products', '/relations/{relationId}'];
