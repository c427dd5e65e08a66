// runs: test
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { createRelata } from '@relata/client';
import { startService } from './service.ts';

/** The table of clients/README.md lists the calls of the clients in three languages. */
const root = join(import.meta.dirname, '../..');
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

const TABLE = namesIn(read('clients/README.md'), /^\| `(\w+\.\w+)` \|/gm).sort();
const PARTS = ['products', 'relations', 'tasks'];

const toCamel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
/** Of a class: its public methods, except the constructor. */
const listCalls = (file: (part: string) => string, pattern: RegExp) =>
  PARTS.flatMap((part) =>
    namesIn(read(file(part)), pattern).map((name) => `${part}.${toCamel(name)}`),
  ).sort();

const capital = (part: string) => part.charAt(0).toUpperCase() + part.slice(1);

test('the table of calls lists exactly the calls of the PHP client', () => {
  assert.ok(TABLE.length > 20);
  const calls = listCalls((part) => `clients/php/src/${capital(part)}.php`, /public function (?!__)(\w+)\(/g);
  assert.deepEqual(calls, TABLE);
});

test('the table of calls lists exactly the calls of the Python client', () => {
  const inClass = (text: string) =>
    text.slice(text.indexOf('\nclass '), text.search(/\n\n\n(?:def|class) _/));
  const calls = PARTS.flatMap((part) => {
    const text = read(`clients/python/src/relata/${part}.py`);
    const named = part === 'products' ? text.slice(text.indexOf('class Products')) : text;
    return namesIn(inClass(`\n${named}`), /^ {4}def (?!_)(\w+)\(/gm).map(
      (name) => `${part}.${toCamel(name)}`,
    );
  }).sort();
  assert.deepEqual(calls, TABLE);
});

test('the TypeScript client has every call of the table', () => {
  const relata = createRelata({ url: 'http://127.0.0.1:1' });
  const parts: Record<string, object> = {
    products: relata.products,
    relations: relata.relations,
    tasks: relata.tasks,
  };
  const missing = TABLE.filter((call) => {
    const [part = '', name = ''] = call.split('.');
    return typeof Reflect.get(parts[part] ?? {}, name) !== 'function';
  });
  assert.deepEqual(missing, []);
});

const READMES = { ts: 'client/README.md', python: 'clients/python/README.md', php: 'clients/php/README.md' };
type Language = keyof typeof READMES;
const firstBlock = (language: Language) =>
  /```\w+\n([\s\S]*?)```/.exec(read(READMES[language]))?.[1] ?? assert.fail(language);

test('each README begins with the same ten-line shop page', () => {
  for (const language of Object.keys(READMES) as Language[]) {
    const block = firstBlock(language);
    assert.equal(block.trimEnd().split('\n').length, 10, language);
    const calls = namesIn(block, /relata(?:\.|->)(?:products|relations)(?:\.|->)(\w+)\(/g).map(toCamel);
    assert.deepEqual(calls, ['lookUpOne', 'relatedTo', 'fit', 'search'], language);
  }
});

const run = promisify(execFile);
const AUTOLOAD = join(root, 'clients/php/test/autoload.php');
const hasGuzzle =
  spawnSync('php', ['-r', `require '${AUTOLOAD}'; new GuzzleHttp\\Psr7\\HttpFactory();`]).status === 0;

const RUNNERS: Record<Language, (code: string) => Promise<{ stdout: string }>> = {
  ts: (code) =>
    run(process.execPath, ['--conditions=relata-source', '--input-type=module', '-e', code], { cwd: root }),
  python: (code) =>
    run('python3', ['-c', code], { env: { ...process.env, PYTHONPATH: join(root, 'clients/python/src') } }),
  php: (code) => run('php', ['-r', `require '${AUTOLOAD}'; ${code}`]),
};

const SKIPPED: Partial<Record<Language, string | false>> = {
  python: spawnSync('python3', ['--version']).status === 0 ? false : 'Python is missing',
  php: hasGuzzle
    ? false
    : 'PHP or its packages are missing: apt-get install php-cli php-curl php-guzzlehttp-guzzle',
};

const { url, key, stop } = await startService();
after(stop);

for (const language of Object.keys(READMES) as Language[])
  test(`the ten lines of ${language} run`, { skip: SKIPPED[language] ?? false }, async () => {
    const relata = createRelata({ url, key });
    const group = await relata.projects.createGroup(language);
    const place = { name: language, projectGroupId: group.id, locale: 'en-GB' };
    const { id: projectId } = await relata.projects.create(place);
    const made = (identifier: string, kind: string) => ({
      identifier,
      name: `The ${kind}`,
      productUrl: `https://shop.test/${identifier}`,
      attributes: [{ key: 'Kind', value: kind }],
    });
    await relata.products.fullUpdate([made('A1', 'drill'), made('B4', 'bit')], { projectId });
    const isOf = (value: string) => ({ attribute: 'Kind', operator: 'equals' as const, value });
    const relation = { name: 'Bits', tag: 'accessories', constraint: true, match: [] };
    await relata.relations.create(projectId, { ...relation, source: isOf('drill'), target: isOf('bit') });
    const { tasks } = await relata.tasks.list({ projectId });
    for (const { id } of tasks) await relata.tasks.wait(id);
    const scope = { type: 'project' as const, id: projectId };
    const { key: ofPage = '' } = await relata.apiKeys.create({ name: 'page', scope, access: 'read' });
    const code = firstBlock(language).replace('http://127.0.0.1:4810', url).replace('your-key', ofPage);
    // A separate process, so that the TypeScript lines are also run from the text of its README.
    const { stdout } = await RUNNERS[language](code);
    assert.equal(stdout.trim(), 'The drill fits 1\nThe bit https://shop.test/B4');
  });
