import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { createRelata, type PipelineDefinition, type RelationDefinition } from '@relata/client';
import { createApp } from '../../app/app.ts';
import { readConfig } from '../../config.ts';
import type { Server } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { makeFirstOwnerLink, untilStopped } from '../serve.ts';

/** `relata demo`: serves a catalog to try everything with, in a directory that is removed when the process ends. */
export async function demoCommand(): Promise<number> {
  const dataDir = fs.mkdtempSync(join(tmpdir(), 'relata-demo-'));
  try {
    const importDir = join(dataDir, 'import');
    const config = { ...readConfig(), database: undefined, dataDir, importDir, logLevel: 'warn' as const };
    const app = await createApp({ config, onServer: serveDemo });
    const key = (await app.access.createFirstAccount(config.accountKey))?.key ?? '';
    const address = await app.start();
    const projectId = await loadDemoCatalog(address, key, config.publicUrl);
    await createDemoPipelines({ address, key, projectId }, importDir);
    const consoleLink = (await makeFirstOwnerLink(app, config)) ?? '';
    // The key for the page of the shop, which its visitors can read.
    const { key: pageKey = '' } = await createRelata({ url: address, key }).apiKeys.create({
      name: 'Shop page',
      scope: { type: 'project', id: projectId },
      page: true,
      rateLimit: { requestsPerMinute: 600 },
    });
    const shownAt = config.publicUrl ?? address;
    console.log(describeDemo({ address: shownAt, key, projectId, consoleLink, pageKey }));
    await untilStopped(app);
    return 0;
  } finally {
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * Loads the catalog over HTTP by a full update, as any shop would.
 * @param shownAt the address for browsers
 * @returns the id of the project
 */
export async function loadDemoCatalog(address: string, key: string, shownAt = address): Promise<number> {
  const { projects, products, relations, tasks } = createRelata({ url: address, key });
  const group = await projects.createGroup('Demo');
  const { id: projectId } = await projects.create({
    name: 'Outdoor and photo shop',
    projectGroupId: group.id,
    locale: 'en-GB',
    tags: ['demo'],
  });
  await products.fullUpdate(withPictures(readDemoCatalog(), shownAt), { projectId });
  for (const relation of readDemoRelations()) await relations.create(projectId, relation);
  const { tasks: builds } = await tasks.list({ projectId, limit: 100 });
  for (const { id } of builds) await tasks.wait(id);
  return projectId;
}

/**
 * Creates a pipeline for each kind of trigger, and the files that two of them read.
 * @param importDir the value of RELATA_IMPORT_DIR
 * @returns the path to which files are uploaded, and the URL of the webhook
 */
export async function createDemoPipelines(
  { address, key, projectId }: { address: string; key: string; projectId: number },
  importDir: string,
) {
  const { pipelines } = createRelata({ url: address, key });
  const folder = join(importDir, String(projectId));
  fs.mkdirSync(folder, { recursive: true });
  fs.copyFileSync(inDemo('arrivals.csv'), join(folder, 'arrivals.csv'));
  const prices = readDemoCatalog().slice(0, 100);
  const rows = prices.map(({ identifier }, index) => `${identifier};${1_000 + index},00`);
  fs.writeFileSync(join(folder, 'prices.csv'), ['sku;price', ...rows, ''].join('\n'));
  const definitions =
    readJson<Record<'manual' | 'schedule' | 'webhook', PipelineDefinition>>('pipelines.json');
  const { id } = await pipelines.create(projectId, definitions.manual);
  await pipelines.create(projectId, definitions.schedule);
  const { trigger } = await pipelines.create(projectId, definitions.webhook);
  const uploadPath = `/management/projects/${projectId}/pipelines/${id}/upload`;
  return { uploadPath, webhookUrl: (trigger.type === 'webhook' && trigger.url) || '' };
}

/** @returns the text of the demo: the address, the link to sign up, and a command to paste into a shell */
export function describeDemo({
  projectId,
  ...texts
}: Record<'address' | 'key' | 'consoleLink' | 'pageKey', string> & { projectId: number }): string {
  const { address, key, consoleLink, pageKey } = texts;
  const products = readDemoCatalog();
  const [first] = products;
  const tyre = products.find(({ categories }) => categories.some(({ path }) => path.includes('Tyres')));
  const shown = {
    url: address,
    key: pageKey,
    project: String(projectId),
    tags: 'accessories,spare parts',
    product: first?.identifier ?? '',
    with: tyre?.identifier ?? '',
  };
  return `
Relata serves the demo catalog. Open this link in a browser within an hour to sign up:
   ${consoleLink}

Show the related products of a bicycle in a second terminal:
   export RELATA_URL=${address} RELATA_API_KEY=${key} RELATA_PROJECT=${projectId}
   ${describeCommand(process.argv[1] ?? '')} related ${first?.identifier}

A shop page that shows them: ${address}${SHOP}/shop.html?${new URLSearchParams(shown)}
The tutorial continues from here: ${address}/docs/tutorial
Press Ctrl+C to stop; this deletes the demo catalog.
`;
}

const IN_PACKAGE = join('dist', 'server', 'src', 'main.mjs');

/**
 * @param program the script of this process, `process.argv[1]`
 * @returns a command that runs `relata` in a second terminal. It calls an installed package by its path, because
 * neither `npx` nor a local `npm install` puts `relata` on the PATH. It calls a clone through npm.
 */
export function describeCommand(program: string): string {
  const path = fs.realpathSync(program);
  if (path.endsWith(IN_PACKAGE)) return `node '${join(path, '../../../../package/relata.js')}'`;
  return path.endsWith('relata.js') ? `node '${path}'` : 'npm run -s relata --';
}

/** A product in upload form. Source: docs/interface §2.3. */
export interface DemoProduct {
  identifier: string;
  groupIdentifier: string;
  name: string;
  productUrl: string;
  images: { url: string; type: 'SMALL' | 'LARGE' | 'THUMB' | 'ALTERNATIVE' }[];
  categories: { path: string[] }[];
  attributes: { key: string; value: string; userGroups?: string[] }[];
}

const inDemo = (name: string) => new URL(`../../../demo/${name}`, import.meta.url);
const readJson = <Value>(name: string) => JSON.parse(fs.readFileSync(inDemo(name), 'utf8')) as Value;

/**
 * Variants of a group follow each other, and each demo relation has products on both sides. The generator of the
 * products is in server/test/support/demo-shop/.
 * @returns the 6,200 products of the demo shop
 */
export function readDemoCatalog(): DemoProduct[] {
  // The file is packed from 7 MB to 145 KB.
  const lines = brotliDecompressSync(fs.readFileSync(inDemo('catalog.ndjson.br')))
    .toString()
    .trimEnd();
  return lines.split('\n').map((line) => JSON.parse(line) as DemoProduct);
}

/** @returns the relations of the demo shop */
export const readDemoRelations = (): RelationDefinition[] =>
  readJson<{ relations: RelationDefinition[] }>('relations.json').relations;

/** Pictures of the demo's products are drawn when requested, because an invented shop has no photographs. */

const PATH = '/demo/pictures';
const DAY_SECONDS = 86_400;
/** The size in pixels by the folder in the URL; `detail` shows a part of the drawing. */
const SIZES: Readonly<Record<string, number>> = { large: 640, detail: 640, small: 160, thumb: 64 };
/** The drawing of each product line in a square of 100 units. */
const DRAWINGS = readJson<Readonly<Record<string, string>>>('drawings.json');

/**
 * Hue, saturation and lightness of the colours in file names. Without a colour, the number in the name determines the
 * hue.
 */
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
const HUES = [172, 28, 205, 262, 345, 92];

/** @param address the address of this process. @returns the products with URLs of pictures that this process draws */
export const withPictures = (products: readonly DemoProduct[], address: string): DemoProduct[] =>
  products.map((product) => {
    const colour = product.attributes.find(({ key }) => key === 'Colour')?.value.toLowerCase() ?? '';
    const ending = `${colour && '-'}${colour.replaceAll(' ', '-')}.svg`;
    const draw = (url: string) => `${address}${PATH}${new URL(url).pathname.replace(/\.jpg$/, ending)}`;
    return { ...product, images: product.images.map(({ url, type }) => ({ url: draw(url), type })) };
  });

const SHOP = '/demo/shop';

/** Serves the part of a shop without a key: pictures, and a page with the elements of clients/web. */
function serveDemo(server: Server): void {
  const route = { config: { guard: 'none' }, schema: { hide: true } } as const;
  for (const [name, media] of Object.entries({ 'shop.html': 'text/html', 'relata.js': 'text/javascript' })) {
    const file = new URL(`../../../../clients/web/${name}`, import.meta.url);
    server.get(`${SHOP}/${name}`, route, async (_request, reply) =>
      reply.headers({ 'content-type': `${media}; charset=utf-8` }).send(fs.readFileSync(file)),
    );
  }
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

/** @returns an SVG; undefined for a picture that no product of the demo has */
export function drawPicture(size: string, file: string): string | undefined {
  const [, line = '', name = ''] = /^([a-z]+)-([a-z0-9-]{4,80})\.svg$/.exec(file) ?? [];
  const [drawing, pixels] = [DRAWINGS[line], SIZES[size]];
  if (drawing === undefined || pixels === undefined) return undefined;
  const namedColour = COLOURS.find(([word]) => name.includes(word));
  // Without a colour in the name, groups of a line have different hues, and variants of a group have the same.
  const hue = namedColour?.[1] ?? HUES[Number.parseInt(name, 10) % HUES.length] ?? 0;
  const [, , saturation, lightness] = namedColour ?? ['', hue, 42, 58];
  const colour = (light: number) => `hsl(${hue} ${saturation}% ${light}%)`;
  const box = size === 'detail' ? '30 30 45 45' : '0 0 100 100';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="${box}"><path fill="${colour(96)}" d="M0 0h100v100H0z"/><g fill="${colour(lightness)}" stroke="${colour(Math.max(14, lightness - 34))}" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round">${drawing}</g></svg>`;
}
