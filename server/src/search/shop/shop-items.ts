import { randomUUID } from 'node:crypto';
import { makeDataPoint, makeItem } from '../../catalog/lookup/lookup.ts';
import { type Attribute, isFact } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { FoundGroups } from '../hits/hits.ts';

/** The items of an answer. They are written once and inserted into the JSON around them. */

/** The placeholder for the items of an answer, which are JSON already. */
export const ITEMS = randomUUID();

/** @returns the JSON of an answer with its items */
export const writeAnswer = (answer: object, items: string): string =>
  JSON.stringify(answer).replaceAll(`"${ITEMS}"`, () => items);

/** @returns JSON: a list of items for each group, in which the best item comes first and is the head */
export function writeItems({ groups, rows, byKey, categoryIds }: FoundGroups, offset: number): string {
  const settings = {
    form: 'bulk' as const,
    brandAttribute: '',
    attributes: new Map<string, Attribute>(),
    categoryIdOf: (path: string) => categoryIds.get(path) ?? 0,
  };
  const insertPoints = openPoints(byKey);
  let relevance = 1_000_000 - offset;
  const written = groups.map((documents) => {
    const items = documents.flatMap((document, index) => {
      const row = rows.get(document);
      if (row === undefined) return [];
      const item = makeItem(row.id, row.product, settings);
      const placed = { ...item, head: index === 0, resultSet: null, relevance: relevance-- };
      return insertPoints(JSON.stringify(placed), row.product);
    });
    return `[${items.join(',')}]`;
  });
  return `[${written.join(',')}]`;
}

const POINTS = '"dataPoints":[';

/**
 * Writes data points as JSON, each once: many products of an answer share most of them, and writing them takes half
 * of its time.
 */
function openPoints(byKey: ReadonlyMap<string, Attribute>) {
  const texts = new Map<Attribute, Map<string, string>>();
  /** @returns an empty text for a value that makes no fact */
  const write = (key: string, value: string): string => {
    const attribute = byKey.get(key);
    if (attribute === undefined) return '';
    const ofAttribute = texts.getOrInsertComputed(attribute, () => new Map<string, string>());
    return ofAttribute.getOrInsertComputed(value, () =>
      isFact(value, attribute) ? JSON.stringify(makeDataPoint(attribute, value)) : '',
    );
  };
  /**
   * @returns the item with the data points of its values inserted before the data point of its category, if it has
   * one
   */
  return (item: string, { attributes }: UploadedProduct): string => {
    const points = new Set(attributes.flatMap(({ key, value }) => write(key, value) || []));
    const offset = item.indexOf(POINTS) + POINTS.length;
    const comma = points.size === 0 || item[offset] === ']' ? '' : ',';
    return `${item.slice(0, offset)}${[...points].join(',')}${comma}${item.slice(offset)}`;
  };
}
