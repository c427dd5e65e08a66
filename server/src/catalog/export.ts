import type { StoredProduct } from './catalog-port.ts';
import { describeNotExtracted, indexByKey, type Ontology, readValue } from './ontology.ts';
import type { UploadedProduct } from './product.ts';

/** Upload shape plus id and lastUpdateTs. Source: docs/interface.md §14.3. */
export function toExportItem({ id, updatedAt, raw }: StoredProduct): object {
  return { ...(JSON.parse(raw) as object), id, lastUpdateTs: updatedAt };
}

/** The stored upload is what an upload takes: an export can be sent back as it is. */
export function exportLine({ raw }: StoredProduct): string {
  return `${raw}\n`;
}

/** @returns the lookup's product, the upload behind it, and each value that made no fact with the reason. */
export function describeStoredProduct(stored: StoredProduct, ontology: Ontology) {
  const upload = JSON.parse(stored.raw) as UploadedProduct;
  const product = JSON.parse(
    `{"id":${stored.id},${stored.answer},"lastUpdateTs":${stored.updatedAt}}`,
  ) as object;
  const known = indexByKey(ontology.attributes);
  const notExtracted = upload.attributes.flatMap(({ key, value }) => {
    const attribute = known.get(key);
    if (attribute === undefined) {
      return [
        {
          attribute: key,
          value,
          code: 'attribute_unknown',
          message: 'the ontology does not know this attribute',
        },
      ];
    }
    const read = readValue(value, attribute);
    if (read.kind !== 'none') return [];
    const message = describeNotExtracted(read.why, attribute);
    return [{ attribute: attribute.name, value, code: read.why, message }];
  });
  return { product, upload, notExtracted };
}
