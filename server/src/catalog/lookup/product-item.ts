import { type Attribute, listFacts, readMeasure } from '../ontology/ontology.ts';
import { computeValueId, mainCategory, mainImage, type UploadedProduct } from '../products/products.ts';

/** `bulk` is for many products, with data points; `single` is for one product, flat. Source: docs/interface §2.5. */
export type AnswerForm = 'bulk' | 'single';

export interface ItemSettings {
  readonly form: AnswerForm;
  readonly brandAttribute: string;
  /** The attributes of the ontology, by `indexByKey`. */
  readonly attributes: ReadonlyMap<string, Attribute>;
  /** @returns the id of a path, which is given as JSON */
  categoryIdOf(path: string): number;
}

type Values = UploadedProduct['attributes'];
type Category = UploadedProduct['categories'][number];

/**
 * A product in the form of a hit or a related product, without its relevance. Source: docs/interface §2.5 rules 3 to
 * 5, §12.5.
 */
export function makeItem(sxId: number, product: UploadedProduct, settings: ItemSettings) {
  const main = mainCategory(product.categories);
  const image = mainImage(product.images)?.url ?? '';
  const { identifier, groupIdentifier: groupId, name, productUrl: link, images } = product;
  return settings.form === 'bulk'
    ? {
        identifier,
        groupId,
        sxId,
        dataPoints: listDataPoints(product.attributes, main, settings),
        image,
        name,
        images,
        link,
        head: identifier === groupId,
      }
    : {
        identifier,
        groupId,
        sxId,
        name,
        brand: findBrand(product.attributes, settings),
        category: main?.path.at(-1) ?? '',
        image,
        link,
      };
}

/** Judges only the values of the brand, because judging takes a microsecond for each value. */
function findBrand(values: Values, { attributes, brandAttribute }: ItemSettings): string {
  const name = brandAttribute.toLowerCase();
  const ofBrand = values.filter(({ key }) => attributes.get(key)?.name.toLowerCase() === name);
  return listFacts(ofBrand, attributes)[0]?.value ?? '';
}

/** @param value makes a fact of the attribute */
export const makeDataPoint = (attribute: Attribute, value: string): object => ({
  id: computeValueId(attribute.id, value),
  conceptIdName: attribute.name.toUpperCase(),
  key: attribute.name,
  type: 'PASS_ON',
  value,
  isCategory: false,
  ...readNumber(value, attribute),
});

function listDataPoints(values: Values, main: Category | undefined, settings: ItemSettings): object[] {
  const points = listFacts(values, settings.attributes).map(({ attribute, value }) =>
    makeDataPoint(attribute, value),
  );
  if (main === undefined) return points;
  const value = main.path.at(-1) ?? '';
  const category = { conceptIdName: 'CATEGORY', key: 'Category', type: 'PASS_ON', value, isCategory: true };
  return [
    ...points,
    { id: main.categoryId ?? settings.categoryIdOf(JSON.stringify(main.path)), ...category },
  ];
}

function readNumber(value: string, attribute: Attribute): object {
  const { type, unitName: unit } = attribute;
  const read = type === 'NUMERIC_ATTRIBUTE' ? readMeasure(value, attribute) : {};
  return 'plain' in read ? { parsedValue: Number(read.plain), ...(unit !== undefined && { unit }) } : {};
}
