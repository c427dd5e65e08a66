/**
 * The single update of Shopware 5: a form, `productsJsonArray=[…]&full=false`, with items in a form of the plug-in.
 * They become the products that the plug-in sends in a full update. Source: docs/connectors.md.
 */
import type { RawBody } from '../../http/bodies/bodies.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { shareText } from '../../storage/threads/threads.ts';
import type { UploadedProduct } from '../products/products.ts';

const START = 'productsJsonArray=';
/** The plug-in sends one product at a time; the description is its largest part. */
const MOST_BYTES = 4 * 1024 * 1024;

type Item = Readonly<Record<string, unknown>>;

export const isLegacyForm = ({ bytes, encoding }: RawBody): boolean =>
  encoding === 'identity' && Buffer.from(bytes.subarray(0, START.length)).toString('latin1') === START;

export interface LegacyProducts {
  /** The body in the form of an update, in shared memory. */
  readonly bytes: Uint8Array;
  readonly items: number;
}

/** @throws body_not_json, request_invalid */
export function readLegacyForm(bytes: Uint8Array): LegacyProducts {
  if (bytes.length > MOST_BYTES) throw refusal(`the form must have at most ${MOST_BYTES} bytes`);
  const { list, full } = splitForm(Buffer.from(bytes).toString());
  if (/^(true|1)$/i.test(full))
    throw refusal(
      'full=true is not supported; send a full update with /products/batch/initiate, upload and start',
    );
  const items = parseItems(list);
  const products = items.map((item) =>
    readItem(typeof item === 'object' && item !== null ? (item as Item) : {}),
  );
  return { bytes: shareText(JSON.stringify({ products })), items: items.length };
}

const refusal = (detail: string) => new ServiceError('request_invalid', detail);

/** The list may contain `&`, so the last parameter ends it. */
function splitForm(text: string): { list: string; full: string } {
  const [, list = '', full = ''] = /^productsJsonArray=([\s\S]*?)(?:&full=([^&]*))?$/.exec(text) ?? [];
  return { list, full };
}

/** The plug-in does not encode the list, but a library may. */
function parseItems(text: string): unknown[] {
  const read = (list: string): unknown => JSON.parse(list);
  try {
    const items = text.startsWith('[') ? read(text) : read(decodeURIComponent(text.replaceAll('+', ' ')));
    if (Array.isArray(items)) return items;
  } catch (cause) {
    throw new ServiceError('body_not_json', 'productsJsonArray must be valid JSON', { cause });
  }
  throw refusal('productsJsonArray must be a JSON list');
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
const textsOf = (value: unknown): string[] => [value].flat().map(textOf);

const OWN_ATTRIBUTES = [
  ['SKU', 'articleNumber'],
  ['price', 'price'],
  ['description', 'description'],
  ['EAN', 'ean'],
  ['manufacturer', 'manufacturer'],
  ['rankingImportance', 'rankingImportance'],
] as const;

type LegacyProduct = Partial<Omit<UploadedProduct, 'attributes' | 'categories'>> & {
  readonly categories: readonly { readonly path: readonly string[] }[];
  readonly attributes: readonly { readonly key: string; readonly value: string }[];
};

function readItem(item: Item): LegacyProduct {
  const own = OWN_ATTRIBUTES.map(([key, name]) => [key, item[name]] as const);
  const others = [item.passOn, item.attributes].flatMap((group) => Object.entries(group ?? {}));
  const paths = [item.category, item.secondaryCategories].flatMap(textsOf);
  const optional = { groupIdentifier: textOf(item.groupId), productUrl: textOf(item.deeplink) };
  const image = textOf(item.image);
  return {
    identifier: textOf(item.articleNumber),
    name: textOf(item.name),
    ...Object.fromEntries(Object.entries(optional).filter(([, text]) => text !== '')),
    categories: paths.map(splitPath).filter(({ path }) => path.length > 0),
    ...(image !== '' && { images: [{ url: image, type: 'LARGE' as const }] }),
    attributes: [...own, ...others].flatMap(([key, value]) =>
      textsOf(value).flatMap((text) => (text.trim() === '' ? [] : { key, value: text })),
    ),
  };
}

const splitPath = (text: string) => ({
  path: text
    .split('#')
    .map((name) => name.trim())
    .filter((name) => name !== ''),
});
