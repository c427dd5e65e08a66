import { type Attribute, indexByKey, readMeasure } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { getOutputFormat } from '../../formats/formats.ts';
import { CURRENCY_SIGNS, readField } from '../../formats/output/output.ts';
import type { ChannelDefinition } from '../channel-definitions/channel-definitions.ts';
import { createRowMaker, suggestMapping } from '../field-mapping/field-mapping.ts';

/** Products of the Universal Commerce Protocol: one per group, with its variants. Pure. */

export interface UcpPrice {
  /** The amount in minor units. */
  readonly amount: number;
  readonly currency: string;
}

export type UcpOption = { readonly name: string; readonly label: string };

export const CATEGORY_LEVEL = ' > ';
/** The maximum number of variants of a product in an answer. */
const VARIANTS = 100;

export type UcpVariant = NonNullable<ReturnType<ReturnType<typeof openVariants>>>;

/** @returns a function that makes a variant, or undefined for a product without a value that the protocol requires */
export function openVariants(
  { mapping }: Pick<ChannelDefinition, 'mapping'>,
  attributes: readonly Attribute[],
) {
  const format = getOutputFormat('ucp');
  const chosen = mapping ?? suggestMapping(format, attributes);
  const { columns, make } = createRowMaker(format, chosen, attributes);
  const formatFields = new Set(format.fields?.map(({ name }) => name));
  const optionNames = columns.map(({ name }) => name).filter((name) => !formatFields.has(name));
  const byKey = indexByKey(attributes);
  /** The attribute that supplies a price, for its unit: `99.00` of an attribute in EUR is a price. */
  const unitOf = (field: string) => {
    const source = chosen[field];
    return source !== undefined && 'attribute' in source ? byKey.get(source.attribute) : undefined;
  };
  return (product: UploadedProduct) => {
    const { values, isLeftOut } = make(product);
    if (isLeftOut) return undefined;
    const valuesOf = (name: string) => values[columns.findIndex((column) => column.name === name)] ?? [];
    const first = (name: string): string | undefined => valuesOf(name)[0];
    const priceOf = (name: string) =>
      readUcpPrice(first(name), { currency: first('currency'), unit: unitOf(name) });
    const price = priceOf('price');
    if (price === undefined) return undefined;
    const listPrice = priceOf('list_price');
    const { identifier, categories } = product;
    const title = first('title') ?? identifier;
    const [url] = toUris([first('url') ?? '']);
    const labelled = optionNames.map((name) => ({ name, label: first(name) ?? '' }));
    const status = first('availability');
    return {
      id: identifier,
      sku: identifier,
      title,
      description: { plain: first('description') ?? title },
      ...(url !== undefined && { url }),
      price,
      ...(listPrice !== undefined && listPrice.amount > price.amount && { list_price: listPrice }),
      ...(status !== undefined && { availability: { available: status !== 'out_of_stock', status } }),
      ...omitEmpty({
        options: labelled.filter(({ label }) => label !== ''),
        media: toUris(valuesOf('media')).map((uri) => ({ type: 'image' as const, url: uri })),
        barcodes: valuesOf('gtin').map((value) => ({ type: 'GTIN', value })),
        categories: categories.map(({ path }) => ({
          value: path.join(CATEGORY_LEVEL),
          taxonomy: 'merchant' as const,
        })),
        tags: valuesOf('tags'),
      }),
    };
  };
}

const omitEmpty = <Lists extends Record<string, readonly unknown[]>>(lists: Lists) =>
  Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Partial<Lists>;

/** As RFC 3986 requires, characters beyond ASCII are percent-encoded. */
const toUris = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => (URL.canParse(text) ? [new URL(text).href.replaceAll('|', '%7C')] : []));

/** @returns undefined for a text that is not a price with a currency */
export function readUcpPrice(
  text: string | undefined,
  { currency, unit }: { readonly currency?: string | undefined; readonly unit?: Attribute | undefined },
): UcpPrice | undefined {
  if (text === undefined) return undefined;
  const whole = readField(text, { name: 'price', kind: 'price' });
  const [amount = '', own] =
    'value' in whole ? whole.value.split(' ') : [readAmount(text, unit), currency ?? unit?.unitName];
  const code = CURRENCY_SIGNS[own ?? ''] ?? own ?? '';
  if (amount === '' || !/^[A-Z]{3}$/.test(code)) return undefined;
  const minor = toMinorUnits(amount, code);
  return Number.isSafeInteger(minor) && minor >= 0 ? { amount: minor, currency: code } : undefined;
}

function readAmount(text: string, attribute: Attribute | undefined): string {
  const measure = attribute?.type === 'NUMERIC_ATTRIBUTE' ? readMeasure(text, attribute) : undefined;
  if (measure !== undefined) return 'plain' in measure ? measure.plain : '';
  return /^\d+([.,]\d+)?$/.test(text.trim()) ? text.trim().replace(',', '.') : '';
}

/** Uses the number of digits that ISO 4217 gives a currency. */
const toMinorUnits = (amount: string, currency: string): number => {
  const form = new Intl.NumberFormat('en', { style: 'currency', currency });
  return Math.round(Number(amount) * 10 ** (form.resolvedOptions().maximumFractionDigits ?? 2));
};

/** @param variants of one group, the best first; at least one */
export function toUcpProduct(id: string, variants: readonly UcpVariant[]) {
  const [featured] = variants as readonly [UcpVariant];
  const { title, description, url, media, categories } = featured;
  // A range has one currency, so prices in other currencies are excluded.
  const ofCurrency = variants.filter(({ price }) => price.currency === featured.price.currency);
  const amounts = ofCurrency.map(({ price }) => price.amount);
  const priced = (amount: number): UcpPrice => ({ amount, currency: featured.price.currency });
  const options = listOptions(variants);
  return {
    id,
    title,
    description,
    ...(url !== undefined && { url }),
    ...(categories && { categories }),
    price_range: { min: priced(Math.min(...amounts)), max: priced(Math.max(...amounts)) },
    ...(media && { media }),
    ...(options.length > 0 && { options }),
    variants: variants.slice(0, VARIANTS),
  };
}

export type UcpProduct = ReturnType<typeof toUcpProduct>;

function listOptions(variants: readonly UcpVariant[]) {
  const labels = new Map<string, Set<string>>();
  for (const { name, label } of variants.flatMap(({ options = [] }) => options))
    labels.set(name, (labels.get(name) ?? new Set()).add(label));
  return [...labels].map(([name, all]) => ({ name, values: [...all].map((label) => ({ label })) }));
}

const hasAll = ({ options = [] }: UcpVariant, selected: readonly UcpOption[]): boolean =>
  selected.every(({ name, label }) =>
    options.some((option) => option.name === name && option.label === label),
  );

/**
 * Returns a product in the form of its page: the variants with the selected options, and the options that can be
 * selected. If no variant has all selected options, options at the end of the preferences are dropped.
 */
export function toDetail(
  id: string,
  variants: readonly UcpVariant[],
  choice: {
    readonly selected: readonly UcpOption[];
    readonly preferences: readonly string[];
    /** The requested variant, whose options are the selection. */
    readonly variant: UcpVariant | undefined;
  },
) {
  const { selected, preferences, variant } = choice;
  const product = toUcpProduct(id, variants);
  const effective = relax(variants, variant?.options ?? selected, preferences);
  const matching = variants.filter((candidate) => hasAll(candidate, effective));
  const shown =
    variant === undefined ? matching : [variant, ...matching.filter((candidate) => candidate !== variant)];
  const options = product.options?.map(({ name, values }) => ({
    name,
    values: values.map(({ label }) => {
      const otherOptions = effective.filter((option) => option.name !== name);
      const candidates = variants.filter((candidate) =>
        hasAll(candidate, [...otherOptions, { name, label }]),
      );
      const available = candidates.some(({ availability }) => availability?.available ?? true);
      return { label, available, exists: candidates.length > 0 };
    }),
  }));
  return { ...product, ...(options && { options, selected: effective }), variants: shown.slice(0, VARIANTS) };
}

function relax(
  variants: readonly UcpVariant[],
  selected: readonly UcpOption[],
  preferences: readonly string[],
): readonly UcpOption[] {
  const rankOf = ({ name }: UcpOption) => {
    const rank = preferences.indexOf(name);
    return rank < 0 ? preferences.length : rank;
  };
  let remaining = selected.toSorted((a, b) => rankOf(a) - rankOf(b));
  while (remaining.length > 0 && !variants.some((variant) => hasAll(variant, remaining)))
    remaining = remaining.slice(0, -1);
  return selected.filter((option) => remaining.includes(option));
}
