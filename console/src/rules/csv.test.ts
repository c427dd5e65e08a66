// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { separatorOf, toCsvCell, toCsvLine } from './csv.ts';

test('writes a cell that begins like a formula as text (§14.5)', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠A1']) {
    assert.match(toCsvCell(text), /^"?'/, JSON.stringify(text));
  }
  assert.equal(toCsvCell('12.5 in'), '12.5 in');
});

test('a cell keeps its quotes, separators and line breaks', () => {
  assert.equal(toCsvLine(['a', 'b"c', 'd,e', 'f\ng', undefined], ','), 'a,"b""c","d,e","f\ng",\r\n');
});

test('separates cells with semicolons where the comma is the decimal sign', () => {
  assert.equal(toCsvLine(['a', 'b;c', 'd,e'], separatorOf('de')), 'a;"b;c";"d,e"\r\n');
  assert.equal(toCsvLine(['a', 'b'], separatorOf('en')), 'a,b\r\n');
});
