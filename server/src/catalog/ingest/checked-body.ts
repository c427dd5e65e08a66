import { createHash } from 'node:crypto';
import { refuseOtherBytes, sampleBytes } from '../../storage/threads/threads.ts';
import type { DerivedFrom, DerivedSource } from '../derivation.ts';
import { isSurelyText, joinObserved, type Observed, observeValue } from '../ontology/drafts/drafts.ts';
import { type Attribute, type ExtractionListener, type Extractor, isBlank } from '../ontology/ontology.ts';
import type { ProductPacker } from '../products/documents/documents.ts';
import {
  type BodyForm,
  type BodySource,
  type CorrectedProduct,
  checkBody,
  isTooShortForExcess,
  normaliseProduct,
  refuseExcess,
  type SkippedProduct,
  type UploadedProduct,
  unpackBody,
} from '../products/products.ts';
import type { SentPatch, SentProduct } from '../products/schemas/schemas.ts';
import { type ScannedBody, scanBody, TextNumbers } from './scan/scan.ts';

export interface CheckedBody {
  readonly sent: number;
  /** Counts only the last product of each repeated identifier. */
  readonly parsed: number;
  readonly repeated: readonly string[];
  /** Invalid products that are skipped. */
  readonly skipped: readonly SkippedProduct[];
  readonly corrected: readonly CorrectedProduct[];
  /** The unpacked size. */
  readonly bytes: number;
  /** The digest of the unpacked body, if it was requested. */
  readonly digest?: string;
  /** @returns the products of a body of whole products, distinct by identifier */
  openProducts(): ProductSource;
  /** The patches of a body of patches, distinct by identifier. */
  readonly patches: readonly SentPatch[];
  /** @returns the attributes that the ontology does not know, in a body of whole products */
  observeUnknown(attributeByKey: ReadonlyMap<string, Attribute>): [string, Observed][];
  /** @returns the category paths without an id, as JSON, each once */
  listPaths(): readonly string[];
  /** @throws Error if the bytes have changed since the check */
  refuseOther(): void;
}

/** For one product the scan takes 27 µs and the validator 3 µs; for 30 products both take the same time. */
const LEAST_SCANNED_BYTES = 8 * 1024;

/**
 * Checks a body in one pass over its bytes. If the body is not certainly valid, the validator checks it, because the
 * validator reports exact errors.
 * @throws every refusal of docs/interface §7.3
 */
export function openBody(source: BodySource, form: BodyForm, isDigested = false): CheckedBody {
  const bytes = unpackBody(source);
  const checked = checkPlain({ ...source, bytes, encoding: 'identity' }, form);
  return isDigested ? { ...checked, digest: createHash('sha256').update(bytes).digest('hex') } : checked;
}

type PlainSource = BodySource & { readonly bytes: Buffer };

function checkPlain(source: PlainSource, form: BodyForm): CheckedBody {
  const { bytes, maxMib } = source;
  const sample = sampleBytes(bytes);
  const isScanned = form === 'products' && bytes.length >= LEAST_SCANNED_BYTES;
  const scanned = isScanned ? scanBody(bytes) : undefined;
  if (scanned === undefined) return validateBody(source, form);
  // Each product can be valid although all together have too many values. The validator counts values itself.
  if (!isTooShortForExcess(bytes, maxMib)) refuseExcess(bytes, maxMib);
  return { ...describeScanned(bytes, scanned), refuseOther: () => refuseOtherBytes(bytes, sample) };
}

/** @throws every refusal of docs/interface §7.3 */
export function validateBody(source: BodySource, form: BodyForm): CheckedBody {
  const { products: valid, ...checked } = checkBody(source, form);
  return {
    ...checked,
    parsed: valid.length,
    bytes: source.bytes.length,
    openProducts: () => sourceOfParsed((valid as SentProduct[]).map(normaliseProduct)),
    patches: form === 'patches' ? valid : [],
    observeUnknown: (attributeByKey) =>
      form === 'products' ? observeUnknown(valid as SentProduct[], attributeByKey) : [],
    listPaths: () => listPaths(valid),
    refuseOther() {},
  };
}

/** @returns the number of pages, which are in a list or in the first list of an object */
export function countPages(source: Omit<BodySource, 'onInvalid'>): number | undefined {
  try {
    const bytes = unpackBody(source);
    if (bytes.length > source.maxMib * 1024 * 1024) return undefined;
    refuseExcess(bytes, source.maxMib);
    const sent: unknown = JSON.parse(bytes.toString());
    return [sent, ...Object.values(sent ?? {})].find(Array.isArray)?.length;
  } catch {
    // An unreadable body is not refused, because pages are not stored.
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
    corrected: [],
    patches: [],
    bytes: bytes.length,
    openProducts: () => sourceOfScanned(scanned),
    observeUnknown: (attributeByKey) => [...observed].filter(([name]) => !attributeByKey.has(name)),
    listPaths: () => paths,
  };
}

function observeUnknown(
  sent: readonly SentProduct[],
  attributeByKey: ReadonlyMap<string, Attribute>,
): [string, Observed][] {
  const observed = new Map<string, Observed>();
  for (const { attributes } of sent) observeValues(attributes ?? [], attributeByKey, observed);
  return [...observed];
}

function observeValues(
  attributes: NonNullable<SentProduct['attributes']>,
  attributeByKey: ReadonlyMap<string, Attribute>,
  observed: Map<string, Observed>,
): void {
  for (const { key, value } of attributes) {
    if (value === null || isBlank(value) || attributeByKey.has(key)) continue;
    const before = observed.get(key);
    // Further values cannot change an attribute that is certainly text, so most values are not observed.
    if (before !== undefined && isSurelyText(before)) continue;
    observed.set(key, joinObserved(before, observeValue(value)));
  }
}

/** @returns the category paths that were sent without an id, as JSON, each once */
function listPaths(sent: readonly Pick<SentProduct | SentPatch, 'categories'>[]): string[] {
  const paths = new Set<string>();
  for (const { categories } of sent)
    for (const { path, categoryId } of categories ?? [])
      if (typeof categoryId !== 'number') paths.add(JSON.stringify(path));
  return [...paths];
}

/** Products by the index of their row. */
export interface ProductSource {
  listIdentifiers(): readonly string[];
  read(row: number): UploadedProduct;
  /** @returns the products with the attributes of these keys */
  openDerived(keys: ReadonlySet<string>): DerivedSource;
  /** Writes the stored form. */
  write(row: number, packer: ProductPacker): void;
  /** @returns a function that reports the values of a product that make no fact */
  inspectBy(extractor: Extractor, listener: ExtractionListener): (row: number) => void;
}

export function sourceOfParsed(parsed: readonly UploadedProduct[]): ProductSource {
  const read = (row: number) => parsed[row] as UploadedProduct;
  return {
    listIdentifiers: () => parsed.map(({ identifier }) => identifier),
    read,
    openDerived: (keys) => numberTexts(read, [...keys]),
    write: (row, packer) => packer.addText(JSON.stringify(read(row))),
    inspectBy: (extractor, listener) => (row) => extractor.inspect(read(row), listener),
  };
}

/** Parsed products with numbers in place of the texts of some attributes. */
function numberTexts(read: (row: number) => UploadedProduct, keys: readonly string[]): DerivedSource {
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

/** Reads the products from the bytes of the body and writes only their stored form. */
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
