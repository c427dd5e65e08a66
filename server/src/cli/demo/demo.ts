import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../app/app.ts';
import { readConfig } from '../../config.ts';
import { makeFirstOwnerLink, untilStopped } from '../serve.ts';
import { readDemoCatalog } from './demo-catalog.ts';
import { servePictures, withPictures } from './demo-pictures.ts';
import { DEMO_PIPELINES, describeDemoFiles } from './demo-pipelines.ts';
import { DEMO_RELATIONS } from './demo-relations.ts';

const PRODUCTS_PER_BATCH = 2_000;

/** `relata demo`: a catalog to try everything on, in a directory that goes with the process. */
export async function demoCommand(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-demo-'));
  try {
    const importDir = join(dataDir, 'import');
    const config = { ...readConfig(), database: undefined, dataDir, importDir, logLevel: 'warn' as const };
    const app = await createApp({ config, addMore: servePictures });
    const key = (await app.access.createFirstAccount(config.accountKey))?.key ?? '';
    const address = await app.start();
    const projectId = await loadDemoCatalog(address, key, config.publicUrl);
    const feeds = await createDemoPipelines({ address, key, projectId }, importDir);
    const consoleLink = (await makeFirstOwnerLink(app, config)) ?? '';
    console.log(
      describeDemo({ address: config.publicUrl ?? address, key, projectId, consoleLink, ...feeds }),
    );
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

interface DemoPlace extends DemoFeeds {
  readonly address: string;
  readonly key: string;
  readonly projectId: number;
  readonly consoleLink: string;
}

/** @returns what the demo shows: where it is, and calls to paste into a shell */
export function describeDemo(place: DemoPlace): string {
  const { address, key, projectId, consoleLink, uploadPath, webhookUrl } = place;
  const [first, second] = readDemoCatalog();
  const header = `-H 'Authorization: Bearer ${key}'`;
  const identifiers = encodeURIComponent(JSON.stringify([first?.identifier, second?.identifier]));
  const tags = encodeURIComponent(JSON.stringify([{ tag: 'accessories', limitPerRelation: 2 }]));
  const patch = JSON.stringify({
    products: [{ identifier: first?.identifier, attributes: { Price: '999.00 EUR' } }],
  });
  return `
Relata serves the demo catalog at ${address}
The documentation is at ${address}/docs/, the API reference at ${address}/docs/api
The console is at ${address}/console/: sign in with the key, or sign up with the link
Your key, for this demo only: ${key}
Your owner link, valid for an hour: ${consoleLink}

For the command line and the tutorial (${address}/docs/tutorial), in a second terminal:
   export RELATA_URL=${address} RELATA_API_KEY=${key} RELATA_PROJECT=${projectId}

1. List the projects that the key can access:
   curl -s ${header} '${address}/projects'

2. Look up two products:
   curl -s ${header} '${address}/product-service/products-by-sku?projectId=${projectId}&identifiers=${identifiers}'

3. Change only the price of the first one (partial update):
   curl -s ${header} -H 'Content-Type: application/json' -X POST '${address}/products?projectId=${projectId}&partial=true' -d '${patch}'

4. Check the task of that update:
   curl -s ${header} '${address}/tasks?projectId=${projectId}&limit=1'

5. Get the related products of the first one, with the reasons:
   curl -s ${header} '${address}/search/relations/result?projectId=${projectId}&identifier=${first?.identifier}&includeTags=${tags}&explain=true'

6. Upload a price file to a pipeline (another pipeline runs every night):
   printf 'sku;price\\n${first?.identifier};899,00\\n' | curl -s ${header} --data-binary @- '${address}${uploadPath}?name=prices.csv'

7. Start a pipeline by webhook, wait for its task and look up the new product:
   TASK=$(curl -s ${header} -X POST '${webhookUrl}' | grep -o '"id":"[0-9a-f]*"' | cut -d '"' -f 4)
   curl -s ${header} "${address}/tasks/$TASK?wait=30"
   curl -s ${header} '${address}/product-service/product-by-sku?projectId=${projectId}&identifier=NEW-0001'

Press Ctrl+C to stop; this deletes the demo catalog.
`;
}
