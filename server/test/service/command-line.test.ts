// runs: long, slow (not on postgres: a client, which sees answers and no store)
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { endLeases } from '../support/killed-process.ts';
import { PROCESS_KEY, type ServiceProcess, startProcess } from '../support/service-process.ts';
import { makeTestStore, type TestStore } from '../support/test-store.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** The number for each of the client, the service and the connection. */
const KILLS = Number(process.env.RELATA_TEST_KILLS ?? 1);

interface Place {
  readonly store: TestStore;
  readonly service: ServiceProcess;
}

interface Shop {
  readonly store: TestStore;
  readonly folder: string;
  /** The project that commands name, or undefined if they need none. */
  readonly projectId?: number;
  readonly url: string;
  service: ServiceProcess;
}

async function startPlace(): Promise<Place> {
  const store = await makeTestStore();
  return { store, service: await startProcess(store) };
}

/** The shared service of this file, because a start takes a second of processor time. */
let started: Promise<Place> | undefined;
after(async () => (await started)?.store.remove());

/** A new project on the shared service. */
async function openShop(t: TestContext): Promise<Shop> {
  started ??= startPlace();
  return makeShop(t, await started);
}

/** The only project of a service, which commands need not name. */
async function openOnlyShop(t: TestContext): Promise<Shop> {
  const folder = await startPlace();
  t.after(folder.store.remove);
  const { projectId: _, ...shop } = await makeShop(t, folder);
  return shop;
}

async function makeShop(t: TestContext, { store, service }: Place) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-push-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const make = async (path: string, body: object) => (await service.call('POST', path, { body })).body.id;
  const projectGroupId = await make('/management/project-groups', { name: 'Shops' });
  const project = { name: 'Shop', projectGroupId, locale: 'en-GB', settings: { maxDeletePercent: 30 } };
  const projectId: number = await make('/management/projects', project);
  return { store, folder, service, projectId, url: service.address };
}

interface End {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

interface Caller extends Pick<Shop, 'folder' | 'url' | 'projectId'> {
  /** The answers that a user types at a terminal, by question. Undefined: there is no terminal. */
  readonly typed?: Readonly<Record<string, string>>;
}

const TERMINAL = '--import=data:text/javascript,process.stdin.isTTY=process.stderr.isTTY=true';

function start({ folder, url, projectId, typed }: Caller, args: readonly string[]): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('RELATA_'));
  const flags = ['--conditions=relata-source', ...(typed === undefined ? [] : [TERMINAL])];
  const child = spawn(process.execPath, [...flags, main, ...args], {
    cwd: folder,
    stdio: [typed === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(inherited),
      RELATA_URL: url,
      RELATA_API_KEY: PROCESS_KEY,
      XDG_STATE_HOME: folder,
      XDG_CONFIG_HOME: folder,
      ...(projectId !== undefined && { RELATA_PROJECT: String(projectId) }),
    },
  });
  return child;
}

const QUESTIONS = /\[y\/N\]|Type \d+ to delete \d+ products/g;

async function run(shop: Caller, line: string): Promise<End> {
  const child = start(shop, line.split(' '));
  const answered = new Set<string>();
  let [out, errors] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
    for (const question of errors.match(QUESTIONS) ?? []) {
      if (answered.has(question)) continue;
      answered.add(question);
      const typed = shop.typed?.[question];
      if (typed === undefined) child.stdin?.end();
      else child.stdin?.write(`${typed}\n`);
    }
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, errors };
}

const product = (index: number, price = 'one') => ({
  identifier: `P${index}`,
  name: `Product ${index}`,
  productUrl: `https://shop.example/${index}`,
  attributes: [{ key: 'Price', value: price }],
});

const write = (folder: string, name: string, products: readonly object[]) => {
  const lines = products.map((product) => `${JSON.stringify(product)}\n`).join('');
  if (name.endsWith('.gz')) writeFileSync(join(folder, name), gzipSync(lines));
  else if (name.endsWith('.json')) writeFileSync(join(folder, name), JSON.stringify({ products }, null, 2));
  else writeFileSync(join(folder, name), `\ufeff${lines}`);
};

const range = (count: number, price?: string) =>
  Array.from({ length: count }, (_, index) => product(index, price));

/** @returns the end of a command whose reader has ended, like `relata pull | head` */
async function runUnread(shop: Shop, line: string): Promise<unknown[]> {
  const child = start(shop, line.split(' '));
  child.stdout?.destroy();
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [code] = await once(child, 'close');
  return [line, code, errors];
}

test('files are pushed, compared, pulled and looked up, and exit codes give the result', async (t) => {
  const shop = await openShop(t);
  const { folder } = shop;
  write(folder, 'all.ndjson.gz', range(50));
  write(folder, 'some.json', range(20, 'two, "quoted" } ] \\'));
  write(folder, 'few.ndjson', range(10));
  const first = await run(shop, 'push --full all.ndjson.gz --json');
  assert.equal(first.code, 0, first.errors);
  const { created, deleted, committed, products } = JSON.parse(first.out);
  assert.deepEqual(
    { created, deleted, committed, products },
    { created: 50, deleted: 0, committed: true, products: 50 },
  );

  const differs = await run(shop, 'diff some.json --json');
  assert.deepEqual(
    [differs.code, JSON.parse(differs.out)],
    [1, { created: 0, changed: 20, unchanged: 0, deleted: 30 }],
  );
  assert.equal((await run(shop, 'push some.json')).out, 'pushed 20 products in 1 batch\n');
  const patch = [{ identifier: 'P30', name: 'Patched' }];
  write(folder, 'patch.ndjson', patch);
  assert.equal((await run(shop, 'push --partial patch.ndjson')).code, 0);
  assert.match((await run(shop, 'lookup P30')).out, /^P30 {2}Patched\n {2}Price: one\n$/);
  assert.deepEqual((await run(shop, 'lookup P30 nope')).errors, 'not in the catalog: nope\n');
  assert.deepEqual(await run(shop, 'related nope'), {
    code: 1,
    out: '',
    errors: 'not in the catalog: nope\n',
  });
  assert.match((await run(shop, 'lookup P30 --key other')).errors, /Check the key and the project: --key, /);

  const seen = await run(shop, 'push --full --preview few.ndjson');
  assert.match(
    seen.errors,
    /This commit: 0 created, 10 changed, 0 unchanged, 40 deleted \(80\.0 % of the catalog\)/,
  );
  assert.equal(seen.code, 0);
  const unasked = await run(shop, 'push --full few.ndjson');
  assert.deepEqual([unasked.code, /needs --yes/.test(unasked.errors)], [1, true]);
  const guarded = await run(shop, 'push --full --yes few.ndjson');
  assert.deepEqual([guarded.code, /would delete 40 of 50/.test(guarded.errors)], [1, true], guarded.errors);
  assert.equal((await run(shop, 'push --full --allow-deletes 40 few.ndjson')).code, 0);
  assert.equal((await run(shop, 'diff few.ndjson')).out, '0 created, 0 changed, 0 deleted, 10 unchanged\n');
  assert.equal((await run(shop, 'delete P0 P1 --yes')).out, 'deleted 2 products\n');
  const pulled = (await run(shop, 'pull')).out.trim().split('\n');
  assert.deepEqual(JSON.parse(pulled[0] ?? '').identifier, 'P2');
  assert.equal(pulled.length, 8);
  assert.match((await run(shop, 'tasks --limit 1')).out, /FINISHED/);
  for (const line of ['--help', 'openapi', 'pull', 'tasks --follow'])
    assert.deepEqual(await runUnread(shop, line), [line, 141, '']);

  write(folder, 'bad.ndjson', [{ identifier: 'X' }, product(1)]);
  const bad = await run(shop, 'push bad.ndjson');
  assert.deepEqual([bad.code, bad.errors.match(/X: .*name/g)?.length], [1, 1], bad.errors);
  assert.match(
    (await run(shop, 'push --on-invalid skip bad.ndjson')).out,
    /1 product in 1 batch, 1 invalid skipped/,
  );
});

test('relations and the ontology are files for export, plan and apply, and a profile replaces the flags', async (t) => {
  const shop = await openOnlyShop(t);
  write(shop.folder, 'all.ndjson', range(3));
  await run(shop, 'push --full all.ndjson');
  const every = { all: [] };
  const relation = {
    name: 'Goes with',
    tag: 'set',
    source: every,
    target: every,
    match: [{ target: 'Price', operator: 'equals', source: 'Price' }],
  };
  writeFileSync(join(shop.folder, 'relations.json'), JSON.stringify({ relations: [relation] }));
  const planned = await run(shop, 'relations plan relations.json');
  assert.deepEqual([planned.code, planned.out], [1, '+ Goes with [set]\n']);
  assert.equal((await run(shop, 'relations apply --yes relations.json')).code, 0);
  assert.deepEqual((await run(shop, 'relations export again.json')).code, 0);
  for (const file of ['relations.json', 'again.json'])
    assert.deepEqual(
      await run(shop, `relations plan ${file}`),
      { code: 0, out: 'no difference\n', errors: '' },
      file,
    );
  for (let answered = ''; !answered.includes('Price one'); await delay(50))
    answered = (await run(shop, 'related P0')).out;

  await run(shop, 'ontology export ontology.json');
  const path = join(shop.folder, 'ontology.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"Price"', '"Cost"'));
  const changed = await run(shop, 'ontology plan ontology.json');
  assert.deepEqual([changed.code, changed.out], [1, '+ Cost\n- Price\n']);

  const nowhere = { folder: shop.folder, url: '' };
  assert.match(
    (await run(nowhere, `login --url ${shop.url} --key ${PROCESS_KEY}`)).out,
    /^The profile default/,
  );
  const [file] = globSync(join(shop.folder, 'relata', 'profiles.json'));
  assert.ok(file !== undefined && existsSync(file));
});

test('fit prints one line per pair and then the verdict, which is also the exit code (§12.10)', async (t) => {
  const shop = await openShop(t);
  const of = (identifier: string, path: string, values: Record<string, string>) => ({
    identifier,
    name: identifier,
    categories: [{ path: [path] }],
    attributes: Object.entries(values).map(([key, value]) => ({ key, value })),
  });
  write(shop.folder, 'all.ndjson', [
    of('B1', 'Bicycles', { Clearance: '50 mm' }),
    ...[of('T47', 'Tyres', { Width: '47 mm' }), of('T62', 'Tyres', { Width: '62 mm' })],
    of('T?', 'Tyres', {}),
  ]);
  await run(shop, 'push --full all.ndjson');
  const relation = {
    name: 'Tyres',
    tag: 'tyres',
    constraint: true,
    source: { category: ['Bicycles'] },
    target: { category: ['Tyres'] },
    match: [{ target: 'Width', operator: 'lessOrEqual', source: 'Clearance' }],
  };
  writeFileSync(join(shop.folder, 'relations.json'), JSON.stringify({ relations: [relation] }));
  assert.equal((await run(shop, 'relations apply --yes relations.json')).code, 0);
  assert.deepEqual(await run(shop, 'fit B1 T47'), {
    code: 0,
    out: 'B1  T47  fits  Tyres: Width 47 mm ≤ Clearance 50 mm\nfits\n',
    errors: '',
  });
  const no = await run(shop, 'fit B1 T62 T47');
  assert.deepEqual([no.code, no.out.trim().split('\n').at(-1)], [1, 'does_not_fit']);
  assert.match(no.out, /^B1 +T62 +does_not_fit +Tyres: Width 62 mm > Clearance 50 mm$/m);
  assert.match(no.out, /^T62 +T47 +no_rule$/m);
  const either = [
    { target: 'Width', operator: 'equals', source: 'Clearance' },
    { target: 'Width', operator: 'greater', source: { attribute: 'Clearance', plus: '20 mm' } },
  ];
  writeFileSync(
    join(shop.folder, 'relations.json'),
    JSON.stringify({ relations: [relation, { ...relation, name: 'Either', match: [{ any: either }] }] }),
  );
  assert.equal((await run(shop, 'relations apply --yes relations.json')).code, 0);
  assert.match(
    (await run(shop, 'fit B1 T47')).out,
    /^B1 +T47 +does_not_fit +Either: Width 47 mm ≠ Clearance 50 mm and Width 47 mm ≤ Clearance 50 mm \+ 20 mm$/m,
  );
  writeFileSync(join(shop.folder, 'relations.json'), JSON.stringify({ relations: [relation] }));
  assert.equal((await run(shop, 'relations apply --yes relations.json')).code, 0);
  const unknown = await run(shop, 'fit B1 T?');
  assert.deepEqual([unknown.code, unknown.out], [4, 'B1  T?  unknown  Tyres: T? has no Width\nunknown\n']);
  assert.equal((await run(shop, 'fit B1')).code, 4);
  const { code, out } = await run(shop, 'fit --json B1 T62 T62');
  assert.deepEqual([code, JSON.parse(out).pairs.length], [1, 1]);
});

test('a plan predicts what apply does with ids and with duplicate names (§12.1 rule 4)', async (t) => {
  const shop = await openShop(t);
  const every = { all: [] };
  const named = (name: string, id?: number) => ({ id, name, tag: 'set', source: every, target: every });
  const apply = async (...relations: object[]) => {
    writeFileSync(join(shop.folder, 'relations.json'), JSON.stringify({ relations }));
    const { out } = await run(shop, 'relations plan relations.json');
    assert.equal((await run(shop, 'relations apply --yes relations.json')).out, out);
    assert.equal((await run(shop, 'relations plan relations.json')).out, 'no difference\n');
    return out.trimEnd().split('\n');
  };
  await apply(named('Fits'), named('Spares'));
  assert.deepEqual(await apply(named('Fits'), named('Fits old', 1), named('Spares')), [
    '+ Fits [set]',
    '~ Fits old [set]',
  ]);
  assert.deepEqual(await apply(named('Fits', 2), named('Spares', 3)), [
    '~ Fits [set]',
    '~ Spares [set]',
    '- Fits old [set]',
  ]);
  assert.deepEqual(await apply(named('Fits'), named('Fits'), named('Spares')), ['+ Fits [set]']);

  await run(shop, 'ontology export ontology.json');
  const text = (id: number | undefined, name: string) => ({ id, name, type: 'TEXT_ATTRIBUTE' });
  const own = async (...attributes: object[]) => {
    writeFileSync(join(shop.folder, 'ontology.json'), JSON.stringify({ mode: 'own', attributes }));
    const { out } = await run(shop, 'ontology plan ontology.json');
    assert.equal((await run(shop, 'ontology apply --yes ontology.json')).out, out);
    return out.trimEnd().split('\n');
  };
  await own(text(undefined, 'Colour'));
  const { attributes } = JSON.parse((await run(shop, 'ontology export -')).out);
  assert.deepEqual(
    attributes.map(({ name }: { name: string }) => name),
    ['Colour'],
  );
  assert.deepEqual(await own(text(undefined, 'Colour'), text(1, 'Tint')), ['+ Colour', '~ Tint']);
});

test('the command prints the interface exactly as the service serves it', async () => {
  const { code, out } = await run({ folder: tmpdir(), url: '' }, 'openapi');
  const document = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
  assert.deepEqual([code, out === document], [0, true]);
});

test('wrong arguments exit with 2, an unreachable service with 3, and unknown flags are refused', async () => {
  const folder = tmpdir();
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const away = { folder, url: `http://127.0.0.1:${port}` };
  for (const [line, code, said] of [
    ['push', 2, /missing required argument 'FILE'/],
    ['push --bogus x', 2, /unknown option '--bogus'/],
    ['push no-such-file', 2, /no-such-file cannot be read/],
    ['lookup A --project x', 2, /--project x must be the id of a project/],
    ['openapi --project 3', 2, /unknown option '--project'/],
    ['lookup A', 3, /The service cannot be reached: .*ECONNREFUSED/],
  ] as const) {
    const ended = await run(away, line);
    assert.deepEqual([ended.code, said.test(ended.errors)], [code, true], `${line}: ${ended.errors}`);
  }
});

/** A relay between client and service; `cut` breaks every connection in the middle of its traffic. */
async function startRelay(t: TestContext, target: string) {
  const open = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const relay = createServer((caller) => {
    const service = connect(Number(port), hostname);
    for (const [socket, other] of [
      [caller, service],
      [service, caller],
    ] as const) {
      open.add(socket);
      socket.pipe(other);
      socket.on('error', () => other.destroy()).on('close', () => other.destroy() && open.delete(socket));
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const cut = () => [...open].filter((socket) => socket.destroy()).length;
  t.after(() => cut() >= 0 && relay.close());
  return { url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`, cut };
}

type Intercept = (request: http.IncomingMessage, answer: http.ServerResponse) => boolean | Promise<boolean>;

/**
 * A proxy between client and service. `intercept` returns whether it answered a request, which is then not forwarded.
 */
async function startProxy(t: TestContext, target: string, intercept: Intercept): Promise<string> {
  const proxy = http.createServer(async (request, answer) => {
    if (await intercept(request, answer)) return;
    const { method, headers } = request;
    const sent = http.request(new URL(request.url ?? '', target), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(answer);
    });
    sent.on('error', () => answer.destroy());
    request.pipe(sent);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('apply does not replace a definition that changed after the comparison', async (t) => {
  const shop = await openShop(t);
  write(shop.folder, 'all.ndjson', range(3));
  await run(shop, 'push --full all.ndjson');
  const home = `/management/projects/${shop.projectId}`;
  const every = { all: [] };
  const relate = (name: string) =>
    shop.service.call('POST', `${home}/relations`, {
      body: { name, tag: 'set', source: every, target: every, match: [] },
    });
  await relate('First');
  const { body: ontology } = await shop.service.call('GET', `${home}/ontology`);
  const attributes = [{ name: 'Theirs', type: 'TEXT_ATTRIBUTE' }];
  const seen: string[] = [];
  const url = await startProxy(t, shop.url, async ({ method, url: path = '' }) => {
    seen.push(`${method} ${path.replace(home, '')}`);
    if (seen.at(-1) === 'PUT /ontology')
      await shop.service.call('PUT', `${home}/ontology`, { body: { ...ontology, attributes } });
    // By then the command has read the compared content once.
    if (seen.filter((each) => each === 'GET /relations/export').length === 2) await relate('Theirs');
    return false;
  });
  const far = { ...shop, url };
  writeFileSync(join(shop.folder, 'ontology.json'), JSON.stringify({ ...ontology, attributes: [] }));
  writeFileSync(join(shop.folder, 'relations.json'), JSON.stringify({ relations: [] }));
  for (const name of ['ontology', 'relations']) {
    const { code, errors } = await run(far, `${name} apply --yes ${name}.json`);
    assert.deepEqual(
      [code, errors],
      [
        1,
        `Nothing was applied, because the ${name} changed in the meantime: run relata ${name} plan again.\n`,
      ],
    );
    assert.match((await run(shop, `${name} export -`)).out, /Theirs/);
  }
  assert.ok(!seen.includes('POST /relations/import'));
  assert.equal((await run(shop, 'relations apply --yes relations.json')).code, 0);
});

test('declining apply changes nothing and exits with 1', async (t) => {
  const shop = await openShop(t);
  const wanted = JSON.stringify({ mode: 'own', attributes: [{ name: 'New', type: 'TEXT_ATTRIBUTE' }] });
  writeFileSync(join(shop.folder, 'ontology.json'), wanted);
  const { code, errors } = await run({ ...shop, typed: { '[y/N]': 'n' } }, 'ontology apply ontology.json');
  assert.equal(code, 1, errors);
  assert.match(errors, /Apply this to the ontology\? \[y\/N\] .*Nothing was applied\.\n$/s);
  assert.equal((await run(shop, 'ontology plan ontology.json')).code, 1);
  assert.equal((await run({ ...shop, typed: { '[y/N]': 'y' } }, 'ontology apply ontology.json')).code, 0);
  assert.equal((await run(shop, 'ontology plan ontology.json')).code, 0);
});

test('a pull into a file keeps the old file until the new one is complete', async (t) => {
  const shop = await openShop(t);
  const { folder } = shop;
  write(folder, 'all.ndjson', range(10));
  await run(shop, 'push --full all.ndjson');
  let isCut = true;
  const url = await startProxy(t, shop.url, ({ url: path = '' }, answer) => {
    const isBroken = isCut && path.includes('format=ndjson');
    if (isBroken) answer.write(`${JSON.stringify(product(0))}\n`, () => answer.destroy());
    return isBroken;
  });
  const far = { ...shop, url };
  const file = join(folder, 'kept.ndjson');
  writeFileSync(file, 'kept', { mode: 0o600 });
  const { code, errors } = await run(far, 'pull -o kept.ndjson');
  assert.deepEqual([code, readFileSync(file, 'utf8')], [3, 'kept'], errors);
  assert.deepEqual(globSync('*.part', { cwd: folder }), []);
  isCut = false;

  assert.equal((await run(far, 'pull -o kept.ndjson')).code, 0);
  assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 10);
  assert.equal(statSync(file).mode & 0o777, 0o600, 'a file keeps its mode');
  assert.equal((await run(far, 'pull -o packed.ndjson.gz')).code, 0);
  const packed = gunzipSync(readFileSync(join(folder, 'packed.ndjson.gz')));
  assert.deepEqual(packed, readFileSync(file));
  assert.equal((await run(far, 'pull -o -')).out, packed.toString());
  assert.equal((await run(far, 'pull -o /dev/null')).code, 0);
  assert.deepEqual(globSync('{-,*.part}', { cwd: folder }), []);
});

test('a push that lost contact during its commit requests the same commit again and sends nothing twice', async (t) => {
  const shop = await openShop(t);
  write(shop.folder, 'all.ndjson', range(10));
  let isBlind = true;
  const uploads: unknown[] = [];
  const url = await startProxy(t, shop.url, ({ url: path = '' }, answer) => {
    if (path.startsWith('/products/batch/upload')) uploads.push(path);
    const isHidden = isBlind && path.startsWith('/tasks/');
    if (isHidden) answer.writeHead(500).end();
    return isHidden;
  });
  const far = { ...shop, url };
  const first = await run(far, 'push --full --yes all.ndjson');
  assert.deepEqual([first.code, uploads.length], [1, 1], first.errors);
  isBlind = false;
  const second = await run(far, 'push --full --yes --resume all.ndjson');
  assert.deepEqual(second, { code: 0, out: 'pushed 10 products in 1 batch\n', errors: '' });
  assert.equal(uploads.length, 1);
});

/** A push of `few.ndjson` whose commit never reached the service, although the push cannot know this. */
async function breakBeforeCommit(t: TestContext, keptProducts: number) {
  const shop = await openShop(t);
  write(shop.folder, 'all.ndjson', range(10));
  assert.equal((await run(shop, 'push --full --yes all.ndjson')).code, 0);
  write(shop.folder, 'few.ndjson', range(keptProducts));
  let isBroken = true;
  const url = await startProxy(t, shop.url, ({ url: path = '' }, answer) => {
    const isHidden = isBroken && path.startsWith('/products/batch/start');
    if (isHidden) answer.writeHead(500).end();
    return isHidden;
  });
  const far = { ...shop, url };
  assert.equal((await run(far, 'push --full --yes few.ndjson')).code, 1);
  isBroken = false;
  const count = async () => (await run(shop, 'pull')).out.trim().split('\n').length;
  const forget = () => shop.service.call('DELETE', `/products/batch?projectId=${shop.projectId}`);
  return { far, forget, count };
}

test('a resumed push commits nothing with --preview, and nothing that deletes without confirmation', async (t) => {
  const { far, count } = await breakBeforeCommit(t, 8);
  const unasked = await run(far, 'push --full --resume few.ndjson');
  assert.deepEqual([unasked.code, /needs --yes/.test(unasked.errors)], [1, true], unasked.errors);
  assert.equal(await count(), 10);

  const other = await breakBeforeCommit(t, 8);
  const previewed = await run(other.far, 'push --full --resume --preview few.ndjson');
  assert.equal(previewed.code, 0, previewed.errors);
  assert.match(previewed.errors, /^This commit: 0 created, 0 changed, 8 unchanged, 2 deleted/);
  assert.equal(await other.count(), 10);
});

test('a resumed push that would delete products requires the user to type their number', async (t) => {
  const { far, count } = await breakBeforeCommit(t, 5);
  const typed = { '[y/N]': 'y', 'Type 5 to delete 5 products': '5' };
  const { code, errors } = await run({ ...far, typed }, 'push --full --resume few.ndjson');
  assert.equal(code, 0, errors);
  assert.match(errors, /Commit, and delete 5 products\?/);
  assert.equal(await count(), 5);
});

test('a push whose session is gone starts again, even after it requested the commit', async (t) => {
  const { far, forget, count } = await breakBeforeCommit(t, 8);
  await forget();
  const again = await run(far, 'push --full --yes --resume few.ndjson');
  assert.equal(again.code, 0, again.errors);
  assert.match(
    again.errors,
    /^The interrupted full update no longer exists, so this push begins a new one\.\n/,
  );
  assert.equal(await count(), 8);
});

test('a push whose commit ended finds it, even if another full update has begun since', async (t) => {
  const shop = await openShop(t);
  const { projectId } = shop;
  write(shop.folder, 'all.ndjson', range(10));
  let isBlind = true;
  const url = await startProxy(t, shop.url, ({ url: path = '' }, answer) => {
    const isHidden = isBlind && path.startsWith('/tasks/');
    if (isHidden) answer.writeHead(500).end();
    return isHidden;
  });
  const far = { ...shop, url };
  assert.equal((await run(far, 'push --full --yes all.ndjson')).code, 1);
  isBlind = false;
  const { body } = await shop.service.call('POST', `/products/batch/initiate?projectId=${projectId}`);
  const { code, out, errors } = await run(far, 'push --full --resume --preview all.ndjson');
  assert.deepEqual([code, out], [0, 'pushed 10 products in 1 batch\n'], errors);
  assert.match(errors, /^There is nothing to preview/);
  const open = await shop.service.call('GET', `/products/batch?projectId=${projectId}`);
  assert.equal(open.body.fullUpdateId, body.fullUpdateId, 'the session is unchanged');
});

test('a push resumes after kills of client and service and broken connections, and the catalog equals the file', async (t) => {
  const shop = await openOnlyShop(t);
  const { folder, store } = shop;
  const settings = { RELATA_PORT: new URL(shop.url).port };
  const { url, cut } = await startRelay(t, shop.url);
  const far = { folder, url };
  const BATCH = 50;
  const isAt = () => {
    const [path] = globSync(join(folder, 'relata', 'push-*.json'));
    return path === undefined ? 0 : (JSON.parse(readFileSync(path, 'utf8')) as { batches: number }).batches;
  };
  const untilAt = async (batches: number, child: ChildProcess) => {
    while (child.exitCode === null && isAt() < batches) await delay(2);
  };
  const done = { client: 0, connection: 0, service: 0 };
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const file = `${kill}.ndjson`;
    write(folder, file, range(40 * BATCH, `price ${kill}`));
    const line = ['push', '--full', '--yes', '--batch', String(BATCH), file];
    const child = start(far, line);
    await untilAt(1 + Math.floor(Math.random() * 30), child);
    // The push may have finished before.
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
      done.client += 1;
    }

    const second = start(far, [...line, '--resume']);
    let errors = '';
    second.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
    await untilAt(isAt() + 3, second);
    done.connection += second.exitCode === null && cut() > 0 ? 1 : 0;
    await untilAt(isAt() + 3, second);
    done.service += second.exitCode === null ? 1 : 0;
    await shop.service.kill();
    await endLeases(store);
    shop.service = await startProcess(store, settings);
    if (second.exitCode === null) await once(second, 'exit');
    assert.equal(second.exitCode, 0, errors);
    const same = await run(shop, `diff ${file} --json`);
    assert.deepEqual(
      JSON.parse(same.out),
      { created: 0, changed: 0, unchanged: 40 * BATCH, deleted: 0 },
      errors,
    );
  }
  t.diagnostic(`while it pushed: ${JSON.stringify(done)}`);
});
