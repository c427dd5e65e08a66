// runs: long, own
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type ColumnValue, createColumns, type SourceRow } from '../../formats/input/source-row.ts';
import { checkTexts, EXPRESSION_LIMITS, RowExpressions } from './expressions/expressions.ts';
import { compileMapping, createRowMapper, type Mapping, MappingProblem } from './mapping.ts';
import { PatternList } from './mapping-columns.ts';

/** Short, so that runaway expressions do not delay the tests. */
const limits = { ...EXPRESSION_LIMITS, rowMs: 800 };

function makeRow(cells: Record<string, ColumnValue>, number: number, source: unknown = cells): SourceRow {
  return { number, values: Object.assign(createColumns<ColumnValue>(), cells), source };
}

function openMapper(t: TestContext, mapping: Mapping) {
  const mapper = createRowMapper(compileMapping(mapping, 'full'), limits);
  t.after(() => mapper[Symbol.asyncDispose]());
  return mapper;
}

/** For expressions that end. All of them share the row's time, and the machine may be busy. */
const patient = { ...EXPRESSION_LIMITS, rowMs: 60_000 };

/**
 * @returns for each row the results of the expressions; starting a process takes a quarter of a second of processor
 * time
 */
async function evaluate(expressions: readonly string[], rows: readonly object[], within = patient) {
  const run = new RowExpressions(expressions, within);
  return run.evaluate(rows).finally(() => run.close());
}

/** Runs at the first call. Several tests share the result. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let begun: Promise<Result> | undefined;
  return () => {
    begun ??= work();
    return begun;
  };
}

test('expressions make texts, lists and tests of a row', async (t) => {
  const mapping: Mapping = {
    identifier: { expression: '$uppercase(sku)' },
    name: { expression: 'brand & " " & title', trim: true },
    images: { expression: 'media[type="image"].url' },
    attributes: {
      Area: { expression: '$number(w) * $number(h)', unit: 'cm' },
      Sum: { expression: '0.1 + 0.2' },
      New: { expression: '$number(w) > 2' },
      Size: { expression: '`nominal size`' },
      None: { expression: 'nothing' },
    },
    filter: { expression: '$number(stock) > 0' },
  };
  const mapper = openMapper(t, mapping);
  const source = { sku: 'a1', title: 'Drill', brand: 'Acme', w: '3', h: '4', 'nominal size': 'M', stock: 1 };
  const media = [
    { type: 'image', url: 'u1' },
    { type: 'video', url: 'u2' },
    { type: 'image', url: 'u3' },
  ];
  const [full, empty, none] = await mapper.mapRows([
    makeRow({ sku: 'a1' }, 1, { ...source, media }),
    makeRow({ sku: 'a1' }, 2, { ...source, stock: 0 }),
    makeRow({ sku: 'a1' }, 3, {}),
  ]);
  assert.deepEqual(full, {
    row: 1,
    product: {
      identifier: 'A1',
      name: 'Acme Drill',
      images: [
        { url: 'u1', type: 'LARGE' },
        { url: 'u3', type: 'ALTERNATIVE' },
      ],
      attributes: [
        { key: 'Area', value: '12 cm' },
        { key: 'Sum', value: '0.3' },
        { key: 'New', value: 'true' },
        { key: 'Size', value: 'M' },
      ],
    },
  });
  assert.deepEqual(empty, { row: 2, isFiltered: true });
  assert.deepEqual(none, { row: 3, isFiltered: true }, 'a comparison with a missing value is not true');
});

test('without a source of its own, a row shows expressions its columns, even with names like __proto__', async (t) => {
  const mapper = openMapper(t, { identifier: 'sku', name: { expression: '`__proto__` & a[1]' } });
  const cells = JSON.parse('{"sku":"1","__proto__":"p","a":["x","y"]}');
  const [outcome] = await mapper.mapRows([makeRow(cells, 1, undefined)]);
  assert.deepEqual(outcome, { row: 1, product: { identifier: '1', name: 'py' } });
});

test('an impossible expression rejects only its row, with a reason', async (t) => {
  const mapper = openMapper(t, { identifier: 'sku', name: { expression: '$number(n) & ""' } });
  const outcomes = await mapper.mapRows([
    makeRow({ sku: '1', n: '1' }, 1),
    makeRow({ sku: '2', n: 'x' }, 2),
    makeRow({ sku: '3', n: '3' }, 3),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => ('product' in outcome ? outcome.product.name : 'rejected')),
    ['1', 'rejected', '3'],
  );
  const [, second] = outcomes;
  assert.ok(second && 'problems' in second);
  assert.match(second.problems[0]?.reason ?? '', /cast value to a number: "x"/);
  assert.equal(second.problems[0]?.field, 'name');
});

const values: [string, unknown][] = [
  ['[1, "a", true, null]', ['1', 'a', 'true']],
  ['{"a":1}', { problem: 'the expression must give a text, a number, true, false or a list of them' }],
  ['$uppercase', { problem: 'the expression must give a text, a number, true, false or a list of them' }],
  ['[[1],[2]]', { problem: 'the expression gives a list with values that are not texts' }],
  ['1/0', null],
  ['$pad("", 1048577, "x")', { problem: 'the expression gives a text that is too long' }],
  ['[1..10001]', { problem: 'the expression gives more than 10000 values' }],
];
const evaluateValues = once(() =>
  evaluate(
    values.map(([expression]) => expression),
    [{}],
  ),
);
for (const [index, [expression, result]] of values.entries()) {
  test(`${expression} gives ${JSON.stringify(result)}`, async () => {
    const given = (await evaluateValues())[0]?.[index];
    if (result === null) assert.ok(given !== null && typeof given === 'object' && 'problem' in given);
    else assert.deepEqual(given, result);
  });
}

/**
 * A guard inside the process ends some expressions; others end only with the process. V8 ends the process if a text is
 * too large. The machine determines which limit comes first.
 */
const runaways = [
  '($f := function(){ $f() }; $f())',
  '($f := function($n){ 1 + $f($n + 1) }; $f(0))',
  '($f := function($n){ $n = 0 ? "x" : $f($n - 1) & $f($n - 1) }; $f(60))',
  '($f := function($a, $n){ $n = 0 ? $a : $f($append($a, $a), $n - 1) }; $f([1..1000], 30))',
  '($f := function($s, $n){ $n = 0 ? $s : $f($s & $s, $n - 1) }; $length($f("xxxxxxxxxx", 28)))',
  '[1..9999999]',
  '[1..3000].([1..3000])',
  '$length($pad("x", 500000000))',
  '$count($split($pad("", 100000000, "a,"), ","))',
  '$length($base64encode($pad("", 400000000, "a")))',
  '$formatNumber(1, $pad("", 100000000, "0"))',
  '$length($replace($pad("", 10000000, "a"), "a", $pad("", 1000, "b")))',
  '$string($sort([1..90000], function($l, $r){ $l < $r }))',
];
/** For each expression: two good rows, then one in which it runs away. Two good rows follow at the end. */
const evaluateRunaways = once(() => {
  const rows = [...runaways, ''].flatMap((_, index) => [
    { sku: `A${index}` },
    { sku: `B${index}` },
    { sku: `C${index}`, bad: index },
  ]);
  const choices = runaways.map((expression, index) => `bad = ${index} ? ${expression} : `);
  return evaluate([`${choices.join('')}"fine " & sku`], rows.slice(0, -1), limits);
});
for (const [runawayIndex, expression] of runaways.entries()) {
  test(`${expression.slice(0, 70)} rejects its row, and the rows around it continue`, async () => {
    const results = (await evaluateRunaways()).map(([result]) => result);
    const [first, second, third, ...others] = results.slice(3 * runawayIndex, 3 * runawayIndex + 5);
    const next = runawayIndex + 1;
    assert.deepEqual(
      [first, second, ...others],
      [`fine A${runawayIndex}`, `fine B${runawayIndex}`, `fine A${next}`, `fine B${next}`],
    );
    assert.ok(third !== null && typeof third === 'object' && 'problem' in third, JSON.stringify(third));
    assert.match(third.problem, /too long|longer than|too often|too much memory/);
  });
}

test('patterns in expressions run in linear time', async () => {
  const expressions = [
    '$contains($pad("", 3000, "a") & "!", /^(a+)+$/)',
    '$match("ab12cd345", /([a-z]+)(\\d+)/).(match & ":" & groups[1])',
    '$replace("A-b a-C", /(a)-(\\w)/i, "$2_$1") & $join($split("a1b22c", /\\d+/), "|")',
  ];
  const [results] = await evaluate(expressions, [{}]);
  assert.deepEqual(results, [false, ['ab12:12', 'cd345:345'], 'b_A C_aa|b|c']);
});

const escapes = [
  '$sum.constructor("return process")()',
  '$lookup($, "constructor").constructor("return process")()',
  '$lookup($, "__proto__").polluted',
  'sku.constructor',
  '$sum.implementation.constructor("return 1")()',
  '$eval("$process")',
  '$eval("constructor")',
  '$process.env',
  '$globalThis',
];
const evaluateEscapes = once(() =>
  evaluate(
    escapes.map((expression) => `bad ? ${expression} : "fine " & sku`),
    [
      { bad: true, sku: 'A1' },
      { bad: false, sku: 'A2' },
    ],
  ),
);
for (const [escapeIndex, expression] of escapes.entries()) {
  test(`${expression} reaches nothing except the row`, async () => {
    const [result, after] = (await evaluateEscapes()).map((results) => results[escapeIndex]);
    const isNothing = result === null || (typeof result === 'object' && 'problem' in (result as object));
    assert.ok(isNothing, JSON.stringify(result));
    assert.equal(after, 'fine A2');
  });
}

test('expressions are checked before they are stored, including their patterns', async () => {
  const expressions = [
    'a.b',
    'a..',
    '$sum([1',
    '$match(a, /(?=x)/)',
    '$contains(a, /(b)\\1/)',
    '/(a{1000}){1000}/',
    '('.repeat(4_000),
  ];
  const patterns = new PatternList();
  const problems = await checkTexts({ expressions, patterns });
  assert.deepEqual([...problems.expressions.keys()], expressions.slice(1));
  assert.equal((await checkTexts({ expressions: [], patterns })).expressions.size, 0);
});

test('patterns are checked in another process, and a pattern that is too large does not affect the others', async () => {
  const check = async (...texts: readonly string[]) => {
    const patterns = new PatternList();
    for (const text of texts) patterns.add(text, { field: 'name' });
    return [...(await checkTexts({ expressions: ['a.b'], patterns })).patterns];
  };
  assert.deepEqual(await check('\\d+', '[a-z]{1,40}'), []);
  assert.match(JSON.stringify(await check('a', '(?=x)', '(')), /^\[\["\(\?=x\)",".+"\],\["\(",".+"\]\]$/);
  // 900,002 steps, which take half a gigabyte: more than the memory of the process.
  const [[huge, problem] = [], ...others] = await check('a', `(?:${'abc'.repeat(300)}){1000}`, 'b');
  assert.deepEqual([huge?.length, others], [910, []]);
  assert.match(problem ?? '', /^it takes (too much time or memory|90\d,\d{3} of the 20,000 steps)/);
});

test('too many runaway rows end the evaluation', async (t) => {
  const expressions = new RowExpressions(['($f := function(){ $f() }; $f())'], {
    ...limits,
    rowMs: 20,
    runaways: 3,
  });
  t.after(() => expressions.close());
  const rows = Array.from({ length: 50 }, () => ({}));
  await assert.rejects(expressions.evaluate(rows), (error) => {
    return error instanceof MappingProblem && /in more than 3 rows/.test(error.message);
  });
});

test('closing a mapper ends its process', { skip: !existsSync('/proc') }, async () => {
  const mapper = createRowMapper(compileMapping({ identifier: 'sku', name: { expression: 'sku' } }, 'full'));
  assert.deepEqual(listOwnProcesses(), []);
  await mapper.mapRows([makeRow({ sku: '1' }, 1)]);
  assert.equal(listOwnProcesses().length, 1);
  await mapper[Symbol.asyncDispose]();
  assert.deepEqual(listOwnProcesses(), []);
});

test('the process ends when the calling thread has ended, however many rows remain', {
  skip: !existsSync('/proc'),
}, async () => {
  const asking = new Worker(
    `import { RowExpressions } from ${JSON.stringify(import.meta.resolve('./expressions/expressions.ts'))};
    const expressions = new RowExpressions(['($f := function($n){ $f($n) }; $f(1))']);
    await expressions.evaluate(Array.from({ length: 100 }, () => ({})));`,
    { eval: true, execArgv: ['--input-type=module'] },
  );
  // More time than the start takes, so rows are being evaluated.
  await waitFor(() => listOwnProcesses().some((pid) => readProcessorSeconds(pid) > 1));
  await asking.terminate();
  await waitFor(() => listOwnProcesses().length === 0);
});

function readProcessorSeconds(pid: string): number {
  const ticks = Number(readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ')[13]);
  return ticks / 100;
}

/** @throws after 30 s, within which only a few of the rows can be done */
async function waitFor(holds: () => boolean): Promise<void> {
  const until = performance.now() + 30_000;
  while (!holds()) {
    assert.ok(performance.now() < until, 'it took too long');
    await delay(20);
  }
}

function listOwnProcesses(): string[] {
  return (
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/stat`, 'latin1').split(' ');
        } catch {
          return [];
        }
      })
      // An ended one remains there until its parent reaps it.
      .filter((stat) => stat[3] === String(process.pid) && stat[2] !== 'Z')
      .map(([pid = '']) => pid)
  );
}

test('a column name that is too long is not stored once for each row that it rejects', async (t) => {
  const mapper = openMapper(t, { identifier: 'sku', name: 'sku', attributes: '*' });
  const long = 'x'.repeat(1_000_000);
  const rows = Array.from({ length: 500 }, (_, index) => makeRow({ sku: `${index}`, [long]: 'v' }, index));
  const before = process.memoryUsage().heapUsed;
  const outcomes = await mapper.mapRows(rows);
  assert.ok(process.memoryUsage().heapUsed - before < 100_000_000, 'the texts together have 500 MB');
  assert.ok(outcomes.every((outcome) => 'problems' in outcome && outcome.problems[0]?.field.length === 300));
});

test('many rows and large rows are mapped in their order', async (t) => {
  const mapper = openMapper(t, {
    identifier: 'sku',
    name: { expression: '"n" & sku & $substring(text, 0, 2)' },
  });
  const rows = Array.from({ length: 1_000 }, (_, index) =>
    makeRow({ sku: String(index), text: 'xy'.repeat(index % 100 === 0 ? 200_000 : 5) }, index),
  );
  const outcomes = await mapper.mapRows(rows);
  assert.deepEqual(
    outcomes.map((outcome) => ('product' in outcome ? outcome.product.name : 'rejected')),
    rows.map((_, index) => `n${index}xy`),
  );
});
