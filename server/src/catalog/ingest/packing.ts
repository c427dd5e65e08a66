import type { Derive } from '../derivation.ts';
import { type Attribute, type Extractor, indexByKey, isBlank } from '../ontology/ontology.ts';
import type { CatalogSnapshot, PresentProduct } from '../port.ts';
import type { ProductPacker } from '../products/documents/documents.ts';
import { listProductErrors, patchProduct, type UploadedProduct } from '../products/products.ts';
import { type CheckedBody, type ProductSource, sourceOfParsed } from './checked-body.ts';
import type { ReportWriter } from './report-writer.ts';

/** The parts that packing the products of one request needs. */
export interface Packing {
  readonly extractor: Extractor;
  readonly derive: Derive;
  readonly draftNames: ReadonlySet<string>;
  readonly report: ReportWriter;
  readonly packer: ProductPacker;
}

export async function packProducts(body: CheckedBody, snapshot: CatalogSnapshot, packing: Packing) {
  packing.report.addRepeated(body.repeated);
  const source = body.openProducts();
  const identifiers = source.listIdentifiers();
  const present = await snapshot.findPresent(identifiers);
  const { add, finish } = packFrom(source, packing);
  for (const [row, identifier] of identifiers.entries()) add(row, identifier, present[row]);
  return { unknownIdentifiers: 0, derived: finish() };
}

/** Packs the products of a partial update, merged with the present ones. */
export async function packPatches(
  { patches, repeated }: CheckedBody,
  snapshot: CatalogSnapshot,
  packing: Packing,
) {
  const { report } = packing;
  report.addRepeated(repeated, 'its changes were applied in their order');
  const rows = await snapshot.findPatched(patches.map(({ identifier }) => identifier));
  const byIdentifier = new Map(rows.map((row) => [row.identifier, row]));
  const pairs = patches.map((patch) => ({ patch, present: byIdentifier.get(patch.identifier) }));
  const patched = pairs.map(({ patch, present }) => present && patchProduct(JSON.parse(present.raw), patch));
  const source = sourceOfParsed(patched.filter((product) => product !== undefined));
  const { add, finish } = packFrom(source, packing);
  let row = 0;
  for (const { patch, present } of pairs) {
    const { identifier } = patch;
    if (present === undefined) {
      report.addUnknownIdentifier(identifier);
      continue;
    }
    // Skips a patch whose result would be an invalid product.
    const errors = listProductErrors(source.read(row), 'products');
    if (errors.length === 0) add(row, identifier, present);
    else report.addSkipped({ skipped: [{ identifier, index: 0, errors }], corrected: [] });
    row += 1;
  }
  return { unknownIdentifiers: patches.length - row, derived: finish() };
}

function packFrom(source: ProductSource, { extractor, derive, draftNames, report, packer }: Packing) {
  const batch = derive(source.openDerived, (line) => report.add(line));
  const inspect = source.inspectBy(extractor, report);
  const add = (row: number, identifier: string, present: PresentProduct | undefined): void => {
    packer.begin(identifier);
    source.write(row, packer);
    const hash = packer.hashRaw();
    inspect(row);
    if (present?.hash === hash) {
      const { id, document } = present;
      report.changed.delete(identifier);
      const gains = draftNames.size > 0 && holdsAny(source.read(row), draftNames);
      packer.endPresent({ product: id, hash, document, gains });
      return;
    }
    batch?.add(row, packer.count, packer);
    packer.endFresh({ product: present?.id ?? 0, hash, document: 0 });
  };
  return { add, finish: () => batch?.finish() };
}

export const listKeys = (attributes: readonly Attribute[]): ReadonlySet<string> =>
  new Set(indexByKey(attributes).keys());

export const holdsAny = ({ attributes }: UploadedProduct, names: ReadonlySet<string>): boolean =>
  attributes.some(({ key, value }) => names.has(key) && !isBlank(value));
