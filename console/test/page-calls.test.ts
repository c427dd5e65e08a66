// runs: deep
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { listPageCalls, type PageCall, SAMPLES, type SampleLanguage } from '../src/calls/page-calls.ts';
import { hasPageCalls } from '../src/calls/paged.ts';
import { findBarriers, makeExamplePipeline, makeExampleProject, startConsole } from './harness.ts';
import { KEY, type Service } from './service.ts';

const ROOT = join(import.meta.dirname, '../..');
const PHP_CLIENT = join(ROOT, 'clients/php/test/autoload.php');
const hasPhp =
  spawnSync('php', ['-r', `require '${PHP_CLIENT}'; new GuzzleHttp\\Psr7\\HttpFactory();`]).status === 0;

const FACETS = [{ attribute: 'Brand', in: ["Bohr's meister", 'Handwerk'] }];

/** Addresses of pages, with filters of every kind. */
async function listAddresses({ relata }: Service, id: number): Promise<string[]> {
  const [pipeline] = (await relata.pipelines.list(id)).items;
  const [relation] = await relata.relations.list(id);
  const [product] = (await relata.products.list(id)).items;
  const { tasks } = await relata.tasks.list({ projectId: id });
  const [commit] = (await relata.commits.list(id)).items;
  const channel = await relata.channels.create(id, {
    name: "Kanal 'A' $1",
    format: { type: 'google-merchant' },
    mapping: { id: { field: 'identifier' } },
    trigger: { type: 'manual' },
  });
  const endpoint = await relata.webhookEndpoints.create({
    url: 'https://receiver.example/',
    events: ['task.failed'],
    scope: { type: 'project', id },
  });
  const identifier = encodeURIComponent(product?.identifier ?? '');
  const lists = [
    '',
    '/ontology',
    '/relations',
    '/suggestions',
    '/pipelines',
    '/channels',
    '/updates',
    '/events',
  ];
  return [
    ...[...lists, '/api-access', '/settings', '/products', '/updates?status=FINISHED'],
    ...[
      '/products?prefix=A%27%22%24',
      '/products?category=Tools',
      `/products?q=drill&sort=Price&where=${encodeURIComponent(JSON.stringify(FACETS))}`,
      '/products?q=%C3%9Cber+dr%27i%22%24',
      `/products?q=dr&sort=Price&category=Tools&where=${encodeURIComponent('[{"attribute":"Colour","in":["blue"]}]')}`,
      '/ontology?category=Tools+%3E+Bits',
    ],
    ...[`/products/${identifier}`, `/relations/${relation?.id}`, `/pipelines/${pipeline?.id}`],
    ...[`/channels/${channel.id}`, `/events/${endpoint.id}`, `/updates/${tasks[0]?.id}`],
    `/updates?commit=${commit?.id}`,
  ].map((path) => `projects/${id}${path}`);
}

test('the code samples of every page return its data in curl, TypeScript and PHP', async (t) => {
  const { service, enter } = await startConsole(t);
  const id = await makeExampleProject(service);
  await makeExamplePipeline(service, id);
  const relations = await service.relata.relations.list(id);
  // The index of search is built at the first search.
  await service.relata.products.findManaged(id, { q: 'drill' });
  const calls = (await listAddresses(service, id)).flatMap((address) => {
    const [path = '', query] = address.split('?');
    const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
    const page = { parts, query: new URLSearchParams(query) };
    const pageCalls = listPageCalls(page, relations);
    assert.ok(hasPageCalls(page) && pageCalls.length > 0, address);
    return pageCalls;
  });
  assert.ok(calls.length > 25, `${calls.length} calls`);
  const folder = mkdtempSync(join(tmpdir(), 'relata-samples-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const byCurl = await runCurl(folder, calls, service);
  const answers = calls.map((_, index) => JSON.parse(byCurl[index] ?? ''));
  const byTypeScript = await runTypeScript(folder, calls, service);
  for (const [callIndex, call] of calls.entries())
    assertGives(answers[callIndex], byTypeScript[callIndex], SAMPLES.TypeScript(call));
  await showByKeyboard(await enter(`#/projects/${id}/products/BIT-1-05`));
  if (!hasPhp) return t.diagnostic('PHP or its packages are missing: its samples were not run');
  for (const [sampleIndex, given] of (await runPhp(folder, calls, service)).entries()) {
    const call = calls[sampleIndex] ?? assert.fail();
    assertGives(answers[sampleIndex], given, SAMPLES.PHP(call));
  }
});

/** The button of a product's page, the call, the language. */
async function showByKeyboard(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'This page as a call' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'This page as a call' });
  await dialog.getByLabel('What it returns').selectOption('The product, as a shop reads it');
  await dialog.getByRole('tab', { name: 'curl' }).press('ArrowRight');
  const sample = dialog.getByRole('group', { name: 'The product, as a shop reads it: TypeScript' });
  assert.match((await sample.textContent()) ?? '', /lookUpOne\('BIT-1-05', \{ projectId: \d+ \}\)/);
  assert.deepEqual(await findBarriers(page), []);
}

/** A method may return a part of an answer, or the answer together with its ETag. */
function assertGives(answer: object, given: unknown, sample: string): void {
  const { etag } = (given ?? {}) as { etag?: string };
  const parts = [answer, ...Object.values(answer), { value: answer, etag }];
  const isOne = parts.some((part) => isSame(part, given));
  assert.ok(isOne, `${sample}\n${JSON.stringify(given)}\nis not of\n${JSON.stringify(answer)}`);
}

/** Ignores numbers, because they may be times. PHP writes an object without members as a list. */
const isSame = (left: unknown, right: unknown) => plain(left) === plain(right);
const plain = (value: unknown) =>
  JSON.stringify(value, (_, entry) => (typeof entry === 'number' ? 0 : entry)).replaceAll('{}', '[]');

const write = (folder: string, language: SampleLanguage, calls: readonly PageCall[]) => {
  const ending = { curl: 'sh', TypeScript: 'ts', PHP: 'php' }[language];
  for (const [index, call] of calls.entries())
    writeFileSync(join(folder, `${index}.${ending}`), SAMPLES[language](call));
};

async function runCurl(folder: string, calls: readonly PageCall[], service: Service): Promise<string[]> {
  write(folder, 'curl', calls);
  const script = `curl() { command curl --silent --fail-with-body "$@"; }
    for at in $(seq 0 ${calls.length - 1}); do . ./$at.sh || exit 1; printf '\\036'; done`;
  return (await run('bash', ['-c', script], { folder, service })).split('\x1e').slice(0, -1);
}

/** All samples run in one process. Each logs its answer. */
async function runTypeScript(
  folder: string,
  calls: readonly PageCall[],
  service: Service,
): Promise<unknown[]> {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  write(folder, 'TypeScript', calls);
  writeFileSync(
    join(folder, 'all.ts'),
    `const all = [];
    console.log = (value) => void all.push(value);
    for (let at = 0; at < ${calls.length}; at += 1) {
      await import(\`./\${at}.ts\`);
    }
    process.stdout.write(JSON.stringify(all));`,
  );
  return JSON.parse(
    await run(process.execPath, ['--conditions=relata-source', 'all.ts'], { folder, service }),
  );
}

async function runPhp(folder: string, calls: readonly PageCall[], service: Service): Promise<unknown[]> {
  mkdirSync(join(folder, 'vendor'));
  writeFileSync(join(folder, 'vendor/autoload.php'), `<?php require_once '${PHP_CLIENT}';`);
  write(folder, 'PHP', calls);
  const code = `for ($at = 0; $at < ${calls.length}; $at += 1) { require "$at.php"; echo "\\x1e"; }`;
  const output = await run('php', ['-d', 'error_reporting=-1', '-r', code], { folder, service });
  return output
    .split('\x1e')
    .slice(0, -1)
    .map((text) => JSON.parse(text));
}

async function run(
  command: string,
  args: readonly string[],
  { folder, service }: { folder: string; service: Service },
): Promise<string> {
  const { PATH } = process.env;
  const env = { PATH, RELATA_URL: service.url, RELATA_API_KEY: KEY };
  const child: ChildProcess = spawn(command, args, { cwd: folder, env });
  let output = '';
  let complained = '';
  child.stdout?.on('data', (text) => (output += text));
  child.stderr?.on('data', (text) => (complained += text));
  const status = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(status, 0, `${command}: ${complained}\n${output.slice(-2_000)}`);
  return output;
}
