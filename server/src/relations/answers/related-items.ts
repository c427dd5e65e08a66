import {
  type Attribute,
  mainCategory,
  mainImage,
  readValue,
  type UploadedProduct,
} from '../../catalog/catalog.ts';
import type { ServedProduct } from '../search/search.ts';

/** `bulk`: for many products, with data points; `single`: for one, flat. Source: docs/interface.md §2.5. */
export type AnswerForm = 'bulk' | 'single';

interface LookupAnswer {
  readonly identifier: string;
  readonly groupId: string;
  readonly name: string;
  readonly link: string;
  readonly images: UploadedProduct['images'];
  readonly categories: readonly { readonly path: readonly string[]; readonly categoryId: number }[];
  readonly facts: readonly {
    readonly attributeId: number;
    readonly attribute: string;
    readonly valueId: number;
    readonly value: string;
  }[];
}

export interface ItemSettings {
  readonly form: AnswerForm;
  readonly brandAttribute: string;
  /** Of the ontology, by id. */
  readonly attributes: ReadonlyMap<number, Attribute>;
}

/**
 * A related product as JSON up to its relevance, which depends on where it stands; `}` is to follow that.
 * Source: docs/interface.md §2.5 rules 3 to 5, §12.5.
 */
export function describeItem(productId: number, served: ServedProduct, settings: ItemSettings): string {
  const product = JSON.parse(`{${served.answer}}`) as LookupAnswer;
  const main = findMainCategory(product, served.raw);
  const image = mainImage(product.images)?.url ?? '';
  const { identifier, groupId, name, link, images } = product;
  const item =
    settings.form === 'bulk'
      ? {
          ...{ identifier, groupId, sxId: productId, dataPoints: listDataPoints(product, main, settings) },
          ...{ image, name, images, link, head: identifier === groupId },
        }
      : {
          ...{ identifier, groupId, sxId: productId, name, brand: findBrand(product, settings) },
          ...{ category: main?.path.at(-1) ?? '', image, link },
        };
  return `${JSON.stringify(item).slice(0, -1)},"relevance":`;
}

/** The lookup's answer has no priorities, the upload may. */
function findMainCategory(
  { categories }: LookupAnswer,
  raw: string,
): LookupAnswer['categories'][number] | undefined {
  if (categories.length < 2 || !raw.includes('"priority":')) return categories[0];
  const uploaded = (JSON.parse(raw) as UploadedProduct).categories;
  return mainCategory(categories.map((category, at) => ({ ...category, priority: uploaded[at]?.priority })));
}

function findBrand({ facts }: LookupAnswer, { brandAttribute }: ItemSettings): string {
  const name = brandAttribute.toLowerCase();
  return facts.find(({ attribute }) => attribute.toLowerCase() === name)?.value ?? '';
}

function listDataPoints(
  { facts }: LookupAnswer,
  main: LookupAnswer['categories'][number] | undefined,
  { attributes }: ItemSettings,
): object[] {
  const points: object[] = facts.map(({ attributeId, attribute, valueId, value }) => ({
    id: valueId,
    conceptIdName: attribute.toUpperCase(),
    key: attribute,
    type: 'PASS_ON',
    value,
    isCategory: false,
    ...readMeasure(value, attributes.get(attributeId)),
  }));
  if (main === undefined) return points;
  const value = main.path.at(-1) ?? '';
  const category = { conceptIdName: 'CATEGORY', key: 'Category', type: 'PASS_ON', value, isCategory: true };
  return [...points, { id: main.categoryId, ...category }];
}

function readMeasure(value: string, attribute: Attribute | undefined): object {
  if (attribute?.type !== 'NUMERIC_ATTRIBUTE') return {};
  const read = readValue(value, attribute);
  if (read.kind !== 'number') return {};
  return { parsedValue: read.number, ...(attribute.unitName !== undefined && { unit: attribute.unitName }) };
}
