// runs: test
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { createTempDir } from '../../../test/support/formats/format-reading.ts';
import { openTextStore } from './text-store.ts';

test('texts are found by number, in memory or on disk, within a page or across pages', async (t) => {
  const store = await openTextStore(createTempDir(t));
  t.after(() => store[Symbol.asyncDispose]());
  // 60 MB, which is more than the memory of the store.
  const textOf = (number: number) =>
    `${number} ${'äx'.repeat(number % 97)}${number % 5_000 === 0 ? 'y'.repeat(200_000) : ''}`;
  const count = 400_000;
  for (let number = 0; number < count; number += 1) store.add(textOf(number));
  for (let number = 0; number < count; number += 37) assert.equal(store.find(number), textOf(number));
  for (const number of [count - 1, 0, 5_000, 399_999, 5_001, 250_000])
    assert.equal(store.find(number), textOf(number));
  for (const number of [count, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(store.find(number), undefined, `${number}`);
});

test('an empty text and a text that fills a page to its end are found', async (t) => {
  const store = await openTextStore(createTempDir(t));
  t.after(() => store[Symbol.asyncDispose]());
  const texts = ['', 'a'.repeat(65_536), '', 'b'.repeat(65_535), 'c', 'd'.repeat(131_072), ''];
  for (const text of texts) store.add(text);
  assert.deepEqual(
    texts.map((_, number) => store.find(number)),
    texts,
  );
  assert.equal(store.find(texts.length), undefined);
});

test('a full disk is reported with the first text that has to be written to it', async (t) => {
  const program = `
    import { openTextStore } from '${import.meta.resolve('./text-store.ts')}';
    const store = await openTextStore(process.argv[1]);
    let code;
    try {
      for (let at = 0; at < 5_000; at += 1) store.add('x'.repeat(10_000));
    } catch (error) {
      code = error.code;
    }
    await store[Symbol.asyncDispose]();
    console.log(code);`;
  const run = `ulimit -f 8; trap '' XFSZ; exec "$0" --input-type=module -e "$1" "$2"`;
  const output = execFileSync('sh', ['-c', run, process.execPath, program, createTempDir(t)], {
    encoding: 'utf8',
  });
  assert.equal(output.trim(), 'storage_failed');
});
