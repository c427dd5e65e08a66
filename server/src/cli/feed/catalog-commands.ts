import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { UploadProduct } from '@relata/client';
import { type Connection, type ConnectionFlags, chooseProject, connect, UsageError } from './connection.ts';
import { measureFiles, readProducts, writeWhole } from './product-files.ts';
import { ask, countOf, formatCount, isInteractive, print } from './terminal.ts';

/** The maximum number of identifiers in a request. Source: docs/interface §8. */
const IDENTIFIERS = 10_000;
/** The number of identifiers that a difference shows of each kind. */
const SHOWN = 20;

/**
 * `relata diff FILE…`: shows the changes of a full update of these files and sends nothing.
 * @returns 1 for a difference
 */
export async function diff(files: readonly string[], flags: ConnectionFlags): Promise<number> {
  const connection = connect(flags);
  const hashProduct = await loadHash();
  const sentHashes = await hashFiles(files, hashProduct);
  const [changed, deleted]: [string[], string[]] = [[], []];
  let unchanged = 0;
  for await (const product of connection.relata.products.export(await chooseProject(connection))) {
    const { identifier } = product;
    const hash = sentHashes.get(identifier);
    sentHashes.delete(identifier);
    if (hash === undefined) deleted.push(identifier);
    else if (hash === hashProduct(product)) unchanged += 1;
    else changed.push(identifier);
  }
  const created = [...sentHashes.keys()];
  if (flags.json)
    print({ created: created.length, changed: changed.length, unchanged, deleted: deleted.length });
  else {
    listSome({ '+': created, '~': changed, '-': deleted });
    const lists = Object.entries({ created, changed, deleted });
    const words = lists.map(([name, list]) => `${formatCount(list.length)} ${name}`);
    console.log([...words, `${formatCount(unchanged)} unchanged`].join(', '));
  }
  return created.length + changed.length + deleted.length > 0 ? 1 : 0;
}

function listSome(lists: Readonly<Record<string, readonly string[]>>): void {
  for (const [sign, list] of Object.entries(lists)) {
    for (const identifier of list.slice(0, SHOWN)) console.log(`${sign} ${identifier}`);
    if (list.length > SHOWN) console.log(`${sign} … and ${formatCount(list.length - SHOWN)} more`);
  }
}

/** Of several products with an identifier the last one counts, as in an upload. Each product takes 22 characters. */
async function hashFiles(files: readonly string[], hashProduct: Hash): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const products of readProducts(files, measureFiles(files))) {
    for (const bytes of products) {
      const product = parse(bytes);
      hashes.set(product.identifier, hashProduct(product));
    }
  }
  return hashes;
}

function parse(bytes: Buffer): UploadProduct {
  try {
    const product = JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, '')) as UploadProduct;
    if (typeof product?.identifier === 'string') return product;
  } catch {
    // Invalid JSON, and JSON that is not a product, are refused below with the beginning of the text.
  }
  const text = bytes.toString('utf8', 0, 120);
  throw new UsageError(`this is not a product: ${text}`);
}

type Hash = (product: UploadProduct) => string;

/** Hashes products in the form in which the service compares them. Loads the products room only for this. */
async function loadHash(): Promise<Hash> {
  const { normaliseProduct } = await import('../../catalog/products/products.ts');
  return (product) =>
    createHash('sha256')
      .update(JSON.stringify(normaliseProduct(product as Parameters<typeof normaliseProduct>[0])))
      .digest('base64url')
      .slice(0, 22);
}

/** `relata pull`: writes the whole catalog in upload form, one product per line. */
export async function pull(flags: ConnectionFlags & { readonly output?: string }): Promise<number> {
  const connection = connect(flags);
  const lines = Readable.from(writeLines(connection, await chooseProject(connection)));
  const { output = '-' } = flags;
  if (output === '-') await pipeline(lines, process.stdout, { end: false });
  else
    await writeWhole(output, (file) =>
      output.endsWith('.gz') ? pipeline(lines, createGzip(), file) : pipeline(lines, file),
    );
  return 0;
}

async function* writeLines({ relata }: Connection, projectId: number): AsyncGenerator<string> {
  for await (const product of relata.products.export(projectId)) yield `${JSON.stringify(product)}\n`;
}

/** `relata delete ID…`: deletes products. The report of the task names products that do not exist. */
export async function remove(
  identifiers: readonly string[],
  flags: ConnectionFlags & { readonly yes?: boolean },
): Promise<number> {
  const connection = connect(flags);
  const { relata, projectId } = connection;
  if (!flags.yes && isInteractive()) {
    const typed = await ask(
      `Type ${identifiers.length} to delete ${countOf(identifiers.length, 'product')}: `,
    );
    if (typed !== String(identifiers.length)) throw new UsageError('nothing was deleted');
  }
  const tasks: string[] = [];
  for (let start = 0; start < identifiers.length; start += IDENTIFIERS) {
    const { task } = await relata.products.delete(identifiers.slice(start, start + IDENTIFIERS), {
      projectId,
    });
    tasks.push(task.id);
  }
  for (const task of tasks) await relata.tasks.wait(task);
  if (flags.json) print({ deleted: identifiers.length, tasks });
  else console.log(`deleted ${countOf(identifiers.length, 'product')}`);
  return 0;
}

/** `relata lookup ID…` @returns 1 if a product does not exist */
export async function lookUp(identifiers: readonly string[], flags: ConnectionFlags): Promise<number> {
  const { relata, projectId } = connect(flags);
  const products = await relata.products.lookUp(identifiers, { projectId });
  if (flags.json) print(products);
  else
    for (const { identifier, name, facts } of products) {
      console.log(`${identifier}  ${name}`);
      for (const { attribute, value } of facts) console.log(`  ${attribute}: ${value}`);
    }
  const presentIdentifiers = new Set(products.map(({ identifier }) => identifier));
  const missing = identifiers.filter((identifier) => !presentIdentifiers.has(identifier));
  if (missing.length > 0) console.error(`not in the catalog: ${missing.join(', ')}`);
  return missing.length > 0 ? 1 : 0;
}
