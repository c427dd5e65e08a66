import type { DerivedFrom } from '../derivation.ts';
import type { Extractor } from '../ontology/ontology.ts';
import type { ProductPacker, UploadedProduct } from '../products/products.ts';
import type { ScannedBody, ScannedKey } from './scan/scan.ts';

/** Products that become rows, by their place. */
export interface ProductSource {
  listIdentifiers(): readonly string[];
  read(row: number): UploadedProduct;
  /** @returns attributes of these keys at least */
  readDerivedFrom(row: number, keys: ReadonlySet<string>): DerivedFrom;
  /** Writes the stored form. */
  write(row: number, packer: ProductPacker): void;
  /** @returns what tells the extractor's listener of the values of a product that make no fact */
  inspectBy(extractor: Extractor): (row: number) => void;
}

export function sourceOfParsed(products: readonly UploadedProduct[]): ProductSource {
  const read = (row: number) => products[row] as UploadedProduct;
  return {
    listIdentifiers: () => products.map(({ identifier }) => identifier),
    read,
    readDerivedFrom: read,
    write: (row, packer) => packer.addText(JSON.stringify(read(row))),
    inspectBy: (extractor) => (row) => extractor.inspect(read(row)),
  };
}

/** Makes nothing of the products except what is stored. */
export function sourceOfScanned({ products, keys }: ScannedBody): ProductSource {
  let identifiers: readonly string[] | undefined;
  let wanted: { readonly of: ReadonlySet<string>; readonly isWanted: readonly boolean[] } | undefined;
  const listIdentifiers = () => {
    identifiers ??= products.listIdentifiers();
    return identifiers;
  };
  return {
    listIdentifiers,
    read: (row) => products.read(row),
    readDerivedFrom(row, of) {
      if (wanted?.of !== of) wanted = { of, isWanted: keys.map(({ name }) => of.has(name)) };
      const attributes: { key: string; value: string }[] = [];
      products.visitValues(row, wanted.isWanted, (key, value) => {
        attributes.push({ key: (keys[key] as ScannedKey).name, value });
      });
      return { ...products.readOwn(row), attributes };
    },
    write: (row, packer) => products.write(row, packer),
    inspectBy(extractor) {
      const judges = keys.map((key) => extractor.judgeOf(key));
      const isJudged = judges.map((judge) => judge !== undefined);
      if (!isJudged.includes(true)) return () => {};
      return (row) => {
        const identifier = listIdentifiers()[row] as string;
        products.visitValues(row, isJudged, (key, value) => judges[key]?.(identifier, value));
      };
    },
  };
}
