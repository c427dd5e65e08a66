// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCharset } from '../sources/sources.ts';
import { readFileName } from './upload-name.ts';

test('a file is named by ?name=, else by Content-Disposition, else upload (§13.1)', () => {
  assert.equal(readFileName('feed.csv', 'attachment; filename="other.csv"'), 'feed.csv');
  const cases: [string | undefined, string][] = [
    ['attachment; filename="a b.csv"', 'a b.csv'],
    ['attachment; filename=feed.csv', 'feed.csv'],
    ['attachment; filename="quote\\".csv"', 'quote".csv'],
    ["attachment; filename=plain.csv; filename*=UTF-8''f%C3%BCr%20alle.csv", 'für alle.csv'],
    ["attachment; filename*=UTF-8''%E0%A4%A.csv", '%E0%A4%A.csv'],
    ['inline', 'upload'],
    ['', 'upload'],
    [undefined, 'upload'],
  ];
  for (const [header, name] of cases) assert.equal(readFileName(undefined, header), name);
});

test('a name is not a path, and contains no characters that corrupt a log (§13.1)', () => {
  assert.equal(readFileName('../../etc/passwd', undefined), 'passwd');
  assert.equal(readFileName('C:\\export\\feed.csv', undefined), 'feed.csv');
  assert.equal(readFileName('a\nb\u0000.csv', undefined), 'ab.csv');
  assert.equal(readFileName(`${'x'.repeat(300)}.csv`, undefined).length, 255);
  assert.equal(readFileName('..//', undefined), 'upload');
});

test('the charset of a media type is read, if it has one (§13.1)', () => {
  assert.equal(readCharset('Text/CSV; charset="ISO-8859-1"; header=present'), 'iso-8859-1');
  // Unknown charsets too, which are refused later by name.
  assert.equal(readCharset("text/csv; charset = 'none+such'"), 'none+such');
  for (const header of [undefined, '', 'application/x-www-form-urlencoded', 'application/octet-stream'])
    assert.equal(readCharset(header), undefined);
});
