import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { createApp } from '../../app/app.ts';
import { readConfig } from '../../config.ts';
import type { Server } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { makeFirstOwnerLink, untilStopped } from '../serve.ts';

const PRODUCTS_PER_BATCH = 2_000;

/** `relata demo`: a catalog to try everything on, in a directory that goes with the process. */
export async function demoCommand(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-demo-'));
  try {
    const importDir = join(dataDir, 'import');
    const config = { ...readConfig(), database: undefined, dataDir, importDir, logLevel: 'warn' as const };
    const app = await createApp({ config, onServer: servePictures });
    const key = (await app.access.createFirstAccount(config.accountKey))?.key ?? '';
    const address = await app.start();
    const projectId = await loadDemoCatalog(address, key, config.publicUrl);
    await createDemoPipelines({ address, key, projectId }, importDir);
    const consoleLink = (await makeFirstOwnerLink(app, config)) ?? '';
    console.log(describeDemo({ address: config.publicUrl ?? address, key, projectId, consoleLink }));
    await untilStopped(app);
    return 0;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function createCaller(address: string, key: string) {
  return async <Answer>(method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Answer;
  };
}

/** Loads the catalog as any shop would: over HTTP, by a full update. @param shownAt  where browsers find it @returns the project's id */
export async function loadDemoCatalog(address: string, key: string, shownAt = address): Promise<number> {
  const call = createCaller(address, key);
  const group = await call<{ id: number }>('POST', '/management/project-groups', { name: 'Demo' });
  const { id } = await call<{ id: number }>('POST', '/management/projects', {
    name: 'Outdoor and photo shop',
    projectGroupId: group.id,
    locale: 'en-GB',
    tags: ['demo'],
  });
  const products = withPictures(readDemoCatalog(), shownAt);
  await call('POST', `/products/batch/initiate?projectId=${id}`);
  for (let at = 0; at < products.length; at += PRODUCTS_PER_BATCH) {
    const batch = products.slice(at, at + PRODUCTS_PER_BATCH);
    await call('POST', `/products/batch/upload?projectId=${id}`, { products: batch });
  }
  const started = await call<{ data: { task: { id: string } } }>(
    'POST',
    `/products/batch/start?projectId=${id}`,
  );
  const { task } = await call<{ task: { taskStatus: string } }>(
    'GET',
    `/tasks/${started.data.task.id}?wait=60`,
  );
  if (task.taskStatus !== 'FINISHED') throw new Error(`the demo catalog was not loaded: ${task.taskStatus}`);
  for (const relation of DEMO_RELATIONS) await call('POST', `/management/projects/${id}/relations`, relation);
  const { tasks } = await call<{ tasks: { id: string }[] }>('GET', `/tasks?projectId=${id}&limit=100`);
  for (const build of tasks) await call('GET', `/tasks/${build.id}?wait=60`);
  return id;
}

export interface DemoFeeds {
  /** Of the pipeline that takes files. */
  readonly uploadPath: string;
  readonly webhookUrl: string;
}

/** Makes a pipeline of each trigger, and the files that two of them read. @param importDir RELATA_IMPORT_DIR */
export async function createDemoPipelines(
  { address, key, projectId }: { address: string; key: string; projectId: number },
  importDir: string,
): Promise<DemoFeeds> {
  const call = createCaller(address, key);
  const folder = join(importDir, String(projectId));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(describeDemoFiles(readDemoCatalog())))
    writeFileSync(join(folder, name), text);
  const path = `/management/projects/${projectId}/pipelines`;
  const { id } = await call<{ id: number }>('POST', path, DEMO_PIPELINES.manual);
  await call('POST', path, DEMO_PIPELINES.schedule);
  const { trigger } = await call<{ trigger: { url: string } }>('POST', path, DEMO_PIPELINES.webhook);
  return { uploadPath: `${path}/${id}/upload`, webhookUrl: trigger.url };
}

interface DemoPlace {
  readonly address: string;
  readonly key: string;
  readonly projectId: number;
  readonly consoleLink: string;
}

/** @returns what the demo shows: where to look, how to come in, and a question to paste into a shell */
export function describeDemo({ address, key, projectId, consoleLink }: DemoPlace): string {
  const [first] = readDemoCatalog();
  return `
Relata serves the demo catalog. Open it in a browser and sign up, within the hour:
   ${consoleLink}

Ask what goes with a bicycle, in a second terminal:
   export RELATA_URL=${address} RELATA_API_KEY=${key} RELATA_PROJECT=${projectId}
   ${RELATA} related ${first?.identifier}

The tutorial asks more: ${address}/docs/tutorial
Press Ctrl+C to stop; this deletes the demo catalog.
`;
}

/** The command as it is called where this program stands: of a clone by npm. */
const RELATA = existsSync(new URL('../../../../package/relata.js', import.meta.url))
  ? 'npm run -s relata --'
  : 'relata';

/** A product in the shape of an upload request. Source: docs/interface.md §2.3. */
export interface DemoProduct {
  identifier: string;
  groupIdentifier: string;
  name: string;
  productUrl: string;
  images: { url: string; type: 'SMALL' | 'LARGE' | 'THUMB' | 'ALTERNATIVE' }[];
  categories: { path: string[] }[];
  attributes: { key: string; value: string; userGroups?: string[] }[];
}

/** Lines of JSON, packed: 7 MB in 145 KB. */
const PACKED = new URL('../../../demo/catalog.ndjson.br', import.meta.url);

/**
 * @returns the 6,200 products of the demo shop, the variants of a group in a row, each relation of the demo with partners on
 * both sides. server/test/support/demo-shop/ has the generator that made them.
 */
export function readDemoCatalog(): DemoProduct[] {
  const lines = brotliDecompressSync(readFileSync(PACKED)).toString().trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as DemoProduct);
}

/** What goes with what in the demo shop, as `POST /management/projects/{id}/relations` takes it. */

const category = (...path: string[]) => ({ category: path });
const bicycles = category('Bicycles');
const tyres = category('Bicycle parts', 'Tyres');
const cameras = category('Photo', 'Cameras');
const sleepingBags = category('Camping', 'Sleeping bags');
const byPrice = [{ attribute: 'Price', direction: 'asc' }] as const;
const shares = (attribute: string) => ({ target: attribute, operator: 'equals', source: attribute }) as const;

export const DEMO_RELATIONS = [
  {
    name: 'Tyres for this bicycle',
    tag: 'accessories',
    description:
      'Of its wheel size and kind, as wide as the frame allows; asked for a tyre, the bicycles it fits.',
    twoWay: true,
    constraint: true,
    source: bicycles,
    target: tyres,
    match: [
      shares('Wheel size'),
      shares('Bicycle type'),
      { target: 'Tyre width', operator: 'lessOrEqual', source: 'Maximum tyre width' },
    ],
    sort: byPrice,
    names: [{ locale: 'de-DE', name: 'Reifen für dieses Rad' }],
  },
  {
    name: 'Inner tubes for this tyre',
    tag: 'accessories',
    constraint: true,
    source: tyres,
    target: category('Bicycle parts', 'Inner tubes'),
    match: [
      shares('Wheel size'),
      { target: 'Fits tyres from', operator: 'lessOrEqual', source: 'Tyre width' },
      { target: 'Fits tyres to', operator: 'greaterOrEqual', source: 'Tyre width' },
    ],
    sort: byPrice,
  },
  {
    name: 'Brake pads for this bicycle',
    tag: 'spare parts',
    constraint: true,
    source: bicycles,
    target: category('Bicycle parts', 'Brake pads'),
    match: [shares('Brake standard')],
    sort: byPrice,
  },
  {
    name: 'Chains for this bicycle',
    tag: 'spare parts',
    constraint: true,
    source: bicycles,
    target: category('Bicycle parts', 'Chains'),
    match: [shares('Speeds')],
    sort: byPrice,
  },
  {
    name: 'Chains for this cassette',
    tag: 'spare parts',
    constraint: true,
    source: category('Bicycle parts', 'Cassettes'),
    target: category('Bicycle parts', 'Chains'),
    match: [shares('Speeds')],
    sort: byPrice,
  },
  {
    name: 'Lenses for this camera',
    tag: 'accessories',
    description: 'With its mount; asked for a lens, the cameras that take it.',
    twoWay: true,
    constraint: true,
    source: cameras,
    target: category('Photo', 'Lenses'),
    match: [shares('Mount')],
    sort: byPrice,
  },
  {
    name: 'Memory cards for this camera',
    tag: 'accessories',
    constraint: true,
    source: cameras,
    target: category('Photo', 'Memory cards'),
    match: [shares('Card type')],
    sort: [{ attribute: 'Storage capacity', direction: 'desc' }, ...byPrice],
  },
  {
    name: 'Batteries for this camera',
    tag: 'spare parts',
    constraint: true,
    source: cameras,
    target: category('Photo', 'Batteries'),
    match: [shares('Battery type')],
    sort: byPrice,
  },
  {
    name: 'Warmer sleeping bags',
    tag: 'alternatives',
    source: sleepingBags,
    target: sleepingBags,
    match: [{ target: 'Comfort temperature', operator: 'less', source: 'Comfort temperature' }],
    sort: [{ attribute: 'Comfort temperature', direction: 'desc' }, ...byPrice],
  },
  {
    kind: 'total',
    name: 'What this backpack carries',
    tag: 'load',
    description: 'Tents, sleeping bags and mats together weigh at most what it is made for.',
    source: category('Backpacks'),
    target: category('Camping'),
    match: [],
    total: { attribute: 'Weight' },
    operator: 'lessOrEqual',
    limit: { attribute: 'Maximum load' },
  },
] as const;

/** How the demo shop is fed, one pipeline of each trigger, as `POST /management/projects/{id}/pipelines` takes it. */

/** Prices as a German system writes them: `1.299,00`. */
const prices = {
  format: { type: 'csv' },
  mapping: {
    identifier: 'sku',
    attributes: { Price: { column: 'price', number: { decimal: 'comma' }, unit: 'EUR' } },
  },
  mode: 'partial',
} as const;

export const DEMO_PIPELINES = {
  manual: {
    name: 'Prices by hand',
    source: { type: 'upload' },
    trigger: { type: 'manual' },
    ...prices,
  },
  schedule: {
    name: 'Prices of the night',
    source: { type: 'directory', pattern: 'prices.csv' },
    trigger: { type: 'schedule', cron: '0 3 * * *', timeZone: 'Europe/Berlin' },
    ...prices,
  },
  webhook: {
    name: 'New arrivals',
    source: { type: 'directory', pattern: 'arrivals.csv' },
    trigger: { type: 'webhook', minSecondsBetween: 10 },
    format: { type: 'csv' },
    mapping: {
      identifier: 'sku',
      name: 'title',
      categories: { from: 'category', separator: ' > ' },
      attributes: { Price: { column: 'price', number: { decimal: 'comma' }, unit: 'EUR' }, Brand: 'brand' },
    },
    mode: 'incremental',
  },
} as const;

/** @returns the files that the pipelines read, by their names */
export function describeDemoFiles(products: readonly DemoProduct[]): Readonly<Record<string, string>> {
  const rows = products.slice(0, 100).map(({ identifier }, at) => `${identifier};${1_000 + at},00`);
  const arrivals = [
    'NEW-0001;Bicycle bell, brass;Bicycle parts > Bells;Trettwell;19,90',
    'NEW-0002;Bicycle bell, black;Bicycle parts > Bells;Trettwell;17,90',
    'NEW-0003;Enamel mug, 0.4 l;Camping > Cookware;Fernlicht;12,50',
  ];
  return {
    'prices.csv': ['sku;price', ...rows, ''].join('\n'),
    'arrivals.csv': ['sku;title;category;brand;price', ...arrivals, ''].join('\n'),
  };
}

/** Pictures of the products of the demo, drawn as they are asked for: an invented shop has no photographs. */

const PATH = '/demo/pictures';
const DAY_SECONDS = 86_400;
/** In pixels, by the folder of the address; `detail` is a part of the drawing. */
const SIZES: Readonly<Record<string, number>> = { large: 640, detail: 640, small: 160, thumb: 64 };

/** Each line of products in a square of 100. */
const DRAWINGS: Readonly<Record<string, string>> = {
  bike: '<g fill="none"><circle cx="27" cy="63" r="17"/><circle cx="73" cy="63" r="17"/><path d="M27 63 41 39h23l9 24M41 39l9 24 14-24M50 63H27M36 33h11M64 39l-2-9h9"/></g>',
  tyre: '<g fill="none"><circle cx="50" cy="50" r="34" stroke-width="9"/><circle cx="50" cy="50" r="39" stroke-dasharray="3 4"/><circle cx="50" cy="50" r="26"/></g>',
  tube: '<g fill="none"><circle cx="50" cy="48" r="32"/><circle cx="50" cy="48" r="24"/><path d="M50 72v16M46 88h8"/></g>',
  pad: '<rect x="18" y="30" width="64" height="38" rx="10"/><rect x="26" y="38" width="48" height="22" rx="5" fill="#fff"/><path d="M50 38v22"/>',
  chain:
    '<g fill="none"><circle cx="22" cy="50" r="7"/><circle cx="50" cy="50" r="7"/><circle cx="78" cy="50" r="7"/><path d="M22 38h28a12 12 0 0 1 0 24H22a12 12 0 0 1 0-24zM50 38h28a12 12 0 0 1 0 24H50"/></g>',
  cass: '<circle cx="50" cy="50" r="36" stroke-dasharray="5 4"/><circle cx="50" cy="50" r="27" fill="#fff" stroke-dasharray="4 3"/><circle cx="50" cy="50" r="18"/><circle cx="50" cy="50" r="7" fill="#fff"/>',
  cam: '<path d="M34 32l4-8h24l4 8"/><rect x="14" y="32" width="72" height="46" rx="7"/><circle cx="50" cy="55" r="16" fill="#fff"/><circle cx="50" cy="55" r="8"/><path d="M74 41h4"/>',
  batt: '<path d="M38 18h8M54 18h8"/><rect x="30" y="20" width="40" height="62" rx="6"/><path d="M54 32 42 54h8l-4 16 12-22h-8z" fill="#fff"/>',
  card: '<path d="M28 16h30l14 14v54H28z"/><path d="M36 24v12M44 24v12M52 24v12"/><rect x="36" y="50" width="28" height="22" rx="2" fill="#fff"/>',
  tent: '<path d="M10 78 50 20l40 58z"/><path d="M50 20 38 78h24z" fill="#fff"/><path d="M6 78h88"/>',
  sleep:
    '<rect x="28" y="10" width="44" height="80" rx="22"/><path d="M38 32a12 12 0 0 1 24 0v8H38z" fill="#fff"/><path d="M50 40v44"/>',
  mat: '<path d="M14 40h60v26H14z"/><circle cx="74" cy="53" r="14"/><circle cx="74" cy="53" r="7" fill="#fff"/>',
  pack: '<path d="M40 26v-8h20v8" fill="none"/><rect x="26" y="26" width="48" height="58" rx="13"/><rect x="35" y="54" width="30" height="21" rx="5" fill="#fff"/><path d="M35 42h30"/>',
  shoe: '<path d="M14 42q12 8 22-4l24 20q24 2 26 12v8H14z"/><path d="M14 70h72M44 46l-6 7M51 51l-6 7"/>',
  wear: '<path d="M36 18 14 32l9 16 8-5v39h38V43l8 5 9-16-22-14q-14 12-28 0z"/>',
  lens: '<rect x="24" y="18" width="52" height="64" rx="7"/><path d="M24 34h52M24 62h52M34 40v16M42 40v16M50 40v16M58 40v16M66 40v16"/><ellipse cx="50" cy="22" rx="20" ry="6" fill="#fff"/>',
  filt: '<circle cx="50" cy="50" r="33" /><circle cx="50" cy="50" r="25" fill="#fff"/><path d="M36 46a16 16 0 0 1 10-12" fill="none"/>',
};

/** Hue, saturation and lightness of the colours that identifiers name; of others the name decides. */
const COLOURS: readonly (readonly [name: string, hue: number, saturation: number, lightness: number])[] = [
  ['black', 210, 6, 30],
  ['silver', 210, 8, 72],
  ['sand', 38, 45, 72],
  ['olive', 75, 35, 48],
  ['petrol', 188, 50, 45],
  ['red', 4, 65, 60],
  ['blue', 218, 50, 52],
  ['green', 140, 38, 52],
  ['grey', 210, 6, 60],
];

/** @returns the products with pictures that this process draws. @param address  where it is reached */
export const withPictures = (products: readonly DemoProduct[], address: string): DemoProduct[] =>
  products.map((product) => {
    const colour = product.attributes.find(({ key }) => key === 'Colour')?.value.toLowerCase() ?? '';
    const ending = `${colour && '-'}${colour.replaceAll(' ', '-')}.svg`;
    const draw = (url: string) => `${address}${PATH}${new URL(url).pathname.replace(/\.jpg$/, ending)}`;
    return { ...product, images: product.images.map(({ url, type }) => ({ url: draw(url), type })) };
  });

/** Serves them without a key, as any shop does. */
export function servePictures(server: Server): void {
  const route = { config: { guard: 'none' }, schema: { hide: true } } as const;
  server.get(`${PATH}/:size/:file`, route, async (request, reply) => {
    const { size, file } = request.params as { size: string; file: string };
    const picture = drawPicture(size, file);
    if (picture === undefined) throw new ServiceError('not_found');
    return reply
      .headers({
        'content-type': 'image/svg+xml',
        'cache-control': `public, max-age=${DAY_SECONDS}`,
        'content-security-policy': "default-src 'none'",
      })
      .send(picture);
  });
}

/** @returns an SVG; undefined for a name that no product of the demo has */
export function drawPicture(size: string, file: string): string | undefined {
  const [, line = '', name = ''] = /^([a-z]+)-([a-z0-9-]{4,80})\.svg$/.exec(file) ?? [];
  const [drawing, pixels] = [DRAWINGS[line], SIZES[size]];
  if (drawing === undefined || pixels === undefined) return undefined;
  const [, hue, saturation, lightness] = COLOURS.find(([word]) => name.includes(word)) ?? [
    '',
    hueOf(name),
    42,
    58,
  ];
  const colour = (light: number) => `hsl(${hue} ${saturation}% ${light}%)`;
  const box = size === 'detail' ? '30 30 45 45' : '0 0 100 100';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="${box}"><path fill="${colour(96)}" d="M0 0h100v100H0z"/><g fill="${colour(lightness)}" stroke="${colour(Math.max(14, lightness - 34))}" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round">${drawing}</g></svg>`;
}

const HUES = [172, 28, 205, 262, 345, 92];

/** Without a colour of their own the groups of a line differ, and the variants of a group are alike. */
const hueOf = (name: string): number => HUES[Number.parseInt(name, 10) % HUES.length] ?? 0;
