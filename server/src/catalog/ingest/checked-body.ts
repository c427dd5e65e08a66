import { createHash } from 'node:crypto';
import { refuseOtherBytes, sampleBytes } from '../../storage/threads/threads.ts';
import type { DerivedFrom, DerivedSource } from '../derivation.ts';
import * as ontology from '../ontology/ontology.ts';
import * as products from '../products/products.ts';
import { type ScannedBody, scanBody, TextNumbers } from './scan/scan.ts';

export interface CheckedBody {
  readonly sent: number;
  /** Without those of repeated identifiers. */
  readonly parsed: number;
  readonly repeated: readonly string[];
  /** Invalid products that were left out. */
  readonly skipped: readonly products.SkippedProduct[];
  readonly mended: readonly products.MendedProduct[];
  /** The unpacked size. */
  readonly bytes: number;
  /** Of the unpacked body, if it was requested. */
  readonly digest?: string;
  /** @returns the products of a body of whole products, distinct by identifier */
  openProducts(): ProductSource;
  /** @returns those of a body of patches, distinct by identifier */
  readonly patches: readonly products.SentPatch[];
  /** @returns attributes that the ontology does not know, in a body of whole products */
  observeUnknown(known: ReadonlyMap<string, ontology.Attribute>): [string, ontology.Observed][];
  /** @returns the category paths without an id, as JSON, each once */
  listPaths(): readonly string[];
  /** @throws Error if its bytes are no longer those that were checked */
  refuseOther(): void;
}

/** For one product the scan takes 27 µs and the validator 3, for 30 both take the same time. */
const LEAST_SCANNED_BYTES = 8 * 1024;

/**
 * Checks a body in one pass over its bytes, and if that leaves doubts, with the validator, whose errors are exact.
 * @throws every refusal of docs/interface.md §7.3
 */
export function openBody(
  source: products.BodySource,
  form: products.BodyForm,
  isDigested = false,
): CheckedBody {
  const bytes = products.unpackBody(source);
  const checked = checkPlain({ ...source, bytes, encoding: 'identity' }, form);
  return isDigested ? { ...checked, digest: createHash('sha256').update(bytes).digest('hex') } : checked;
}

type PlainSource = products.BodySource & { readonly bytes: Buffer };

function checkPlain(source: PlainSource, form: products.BodyForm): CheckedBody {
  const { bytes, maxMib } = source;
  const sample = sampleBytes(bytes);
  const isScanned = form === 'products' && bytes.length >= LEAST_SCANNED_BYTES;
  const scanned = isScanned ? scanBody(bytes) : undefined;
  if (scanned === undefined) return validateBody(source, form);
  // Valid products can contain too many values together; the validator counts them itself.
  if (!products.isTooShortForExcess(bytes, maxMib)) products.refuseExcess(bytes, maxMib);
  return { ...describeScanned(bytes, scanned), refuseOther: () => refuseOtherBytes(bytes, sample) };
}

/** @throws every refusal of docs/interface.md §7.3 */
export function validateBody(source: products.BodySource, form: products.BodyForm): CheckedBody {
  const { products: valid, ...checked } = products.checkBody(source, form);
  return {
    ...checked,
    parsed: valid.length,
    bytes: source.bytes.length,
    openProducts: () => sourceOfParsed((valid as products.SentProduct[]).map(products.normaliseProduct)),
    patches: form === 'patches' ? valid : [],
    observeUnknown: (known) =>
      form === 'products' ? observeUnknown(valid as products.SentProduct[], known) : [],
    listPaths: () => listPaths(valid),
    refuseOther() {},
  };
}

/** @returns the number of pages, in a list or in the first list of an object */
export function countPages(source: Omit<products.BodySource, 'onInvalid'>): number | undefined {
  try {
    const bytes = products.unpackBody(source);
    if (bytes.length > source.maxMib * 1024 * 1024) return undefined;
    products.refuseExcess(bytes, source.maxMib);
    const sent: unknown = JSON.parse(bytes.toString());
    return [sent, ...Object.values(sent ?? {})].find(Array.isArray)?.length;
  } catch {
    // It has no effect, so nothing in it can be wrong.
    return undefined;
  }
}

function describeScanned(bytes: Buffer, scanned: ScannedBody): Omit<CheckedBody, 'refuseOther'> {
  const { sent, observed, paths } = scanned;
  return {
    sent,
    parsed: sent,
    repeated: [],
    skipped: [],
    mended: [],
    patches: [],
    bytes: bytes.length,
    openProducts: () => sourceOfScanned(scanned),
    observeUnknown: (known) => [...observed].filter(([name]) => !known.has(name)),
    listPaths: () => paths,
  };
}

function observeUnknown(
  sent: readonly products.SentProduct[],
  known: ReadonlyMap<string, ontology.Attribute>,
): [string, ontology.Observed][] {
  const observed = new Map<string, ontology.Observed>();
  for (const { attributes } of sent) observeValues(attributes ?? [], known, observed);
  return [...observed];
}

function observeValues(
  attributes: NonNullable<products.SentProduct['attributes']>,
  known: ReadonlyMap<string, ontology.Attribute>,
  observed: Map<string, ontology.Observed>,
): void {
  for (const { key, value } of attributes) {
    if (value === null || ontology.isBlank(value) || known.has(key)) continue;
    const before = observed.get(key);
    // Text stays text, whatever follows, so most values are not judged again.
    if (before !== undefined && ontology.isSurelyText(before)) continue;
    observed.set(key, ontology.joinObserved(before, ontology.observeValue(value)));
  }
}

/** @returns the paths that came without an id, as JSON, each once */
function listPaths(sent: readonly Pick<products.SentProduct | products.SentPatch, 'categories'>[]): string[] {
  const paths = new Set<string>();
  for (const { categories } of sent)
    for (const { path, categoryId } of categories ?? [])
      if (typeof categoryId !== 'number') paths.add(JSON.stringify(path));
  return [...paths];
}

/** Products that become rows, by index. */
export interface ProductSource {
  listIdentifiers(): readonly string[];
  read(row: number): products.UploadedProduct;
  /** @returns the products with the attributes of these keys */
  openDerived(keys: ReadonlySet<string>): DerivedSource;
  /** Writes the stored form. */
  write(row: number, packer: products.ProductPacker): void;
  /** @returns a function that reports the values of a product that make no fact */
  inspectBy(extractor: ontology.Extractor, listener: ontology.ExtractionListener): (row: number) => void;
}

export function sourceOfParsed(parsed: readonly products.UploadedProduct[]): ProductSource {
  const read = (row: number) => parsed[row] as products.UploadedProduct;
  return {
    listIdentifiers: () => parsed.map(({ identifier }) => identifier),
    read,
    openDerived: (keys) => numberTexts(read, [...keys]),
    write: (row, packer) => packer.addText(JSON.stringify(read(row))),
    inspectBy: (extractor, listener) => (row) => extractor.inspect(read(row), listener),
  };
}

/** Parsed products, with numbers instead of the texts of some attributes. */
function numberTexts(
  read: (row: number) => products.UploadedProduct,
  keys: readonly string[],
): DerivedSource {
  const numbers = new Map(keys.map((key, number) => [key, number]));
  const texts = keys.map(() => new TextNumbers());
  const byPaths = new Map<string, DerivedFrom['categories']>();
  return {
    keys,
    texts,
    readOwn: (row, field) => read(row)[field],
    categoriesOf(row) {
      const { categories } = read(row);
      return byPaths.getOrInsert(JSON.stringify(categories), categories);
    },
    visitTexts(row, visit, isVisited) {
      for (const { key, value, row: ofRow } of read(row).attributes) {
        const number = numbers.get(key);
        if (number === undefined || isVisited?.[number] === false) continue;
        visit(number, (texts[number] as TextNumbers).add(value), ofRow);
      }
    },
    textOf: (key, text) => texts[key]?.texts[text] as string,
  };
}

/** Makes nothing of the products but their stored form. */
export function sourceOfScanned({ products: scanned, keys }: ScannedBody): ProductSource {
  let identifiers: readonly string[] | undefined;
  const listIdentifiers = () => {
    identifiers ??= scanned.listIdentifiers();
    return identifiers;
  };
  const names = keys.map(({ name }) => name);
  return {
    listIdentifiers,
    read: (row) => scanned.read(row),
    openDerived: (read) => scanned.openDerived(names, read),
    write: (row, packer) => scanned.write(row, packer),
    inspectBy(extractor, listener) {
      const judges = keys.map((key) => extractor.judgeOf(key, listener));
      const isJudged = judges.map((judge) => judge !== undefined);
      if (!isJudged.includes(true)) return () => {};
      return (row) => {
        const identifier = listIdentifiers()[row] as string;
        scanned.visitValues(row, isJudged, (key, value) => judges[key]?.(identifier, value));
      };
    },
  };
}
