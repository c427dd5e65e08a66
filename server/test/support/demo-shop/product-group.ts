import type { DemoProduct } from '../../../src/cli/demo/demo.ts';
import { createSeededRandom, cycle, type SeededRandom } from './seeded-random.ts';

/** Attribute values by name; a list for several values of one attribute. */
type Facts = Readonly<Record<string, string | readonly string[]>>;

interface VariantPlan {
  /** The end of the name and, in capitals, of the identifier; unique in its group. */
  readonly label: string;
  /** The price, if it differs from the group's. */
  readonly euros?: number;
  readonly facts: Facts;
}

/** A product group before it becomes products. */
export interface GroupPlan {
  readonly brand: string;
  readonly model: string;
  /** The kind of product, such as "Inner tube". It is also the value of the attribute Product type. */
  readonly kind: string;
  readonly path: readonly string[];
  readonly euros: number;
  readonly facts: Facts;
  /** The first one is the head: the group has its identifier. */
  readonly variants: readonly VariantPlan[];
}

/** A kind of goods and the function that makes up its groups. */
export interface ProductLine {
  /** The beginning of all identifiers of the line. */
  readonly code: string;
  /** The number of the line's groups in a round of the catalog. */
  readonly groupsPerRound: number;
  /** Selects the standards of the line by `ordinal`, so that each standard has products. The rest is random. */
  planGroup(ordinal: number, random: SeededRandom): GroupPlan;
}

/** The newest model year on offer. */
export const MODEL_YEAR = 2026;

const EDITIONS = ['', ' Pro', ' Comp', ' Lite', ' Plus', ' Tour', ' Select'];

/** Makes the products of one group, the head first. */
export function buildGroup(line: ProductLine, ordinal: number, seed: number): DemoProduct[] {
  const random = createSeededRandom(`${seed}/${line.code}/${ordinal}`);
  const plan = line.planGroup(ordinal, random);
  const groupIdentifier = `${line.code}-${String(ordinal + 1).padStart(4, '0')}`;
  const common: Facts = {
    Brand: plan.brand,
    'Product type': plan.kind,
    'In stock': yesNo(random.chance(0.85)),
    'Delivery time': measure(random.pick([1, 2, 3, 5, 10]), 'days'),
    ...plan.facts,
  };
  return plan.variants.map((variant, index) => {
    const name = `${plan.brand} ${plan.model} ${lowerFirst(plan.kind)}, ${variant.label}`;
    const suffix = index === 0 ? '' : `-${slug(variant.label).toUpperCase()}`;
    const euros = variant.euros ?? plan.euros;
    return {
      identifier: `${groupIdentifier}${suffix}`,
      groupIdentifier,
      name,
      productUrl: `https://shop.example/${slug(plan.path.at(-1) ?? '')}/${slug(name)}`,
      images: listImages(`${groupIdentifier}${suffix}`.toLowerCase(), ordinal),
      categories: listCategories(plan.path, ordinal),
      attributes: [...listAttributes({ ...common, ...variant.facts }), ...listPrices(euros, ordinal)],
    };
  });
}

/** A number with its unit, at most two decimals: "27.5 in". */
export function measure(amount: number, unit: string): string {
  return `${Number(amount.toFixed(2))} ${unit}`;
}

export function yesNo(answer: boolean): string {
  return answer ? 'true' : 'false';
}

/** Brand and model of a group. Each word belongs to one brand, in several editions and then as "Mark 2". */
export function nameModel(ordinal: number, brands: readonly string[], words: readonly string[]) {
  const repetition = Math.floor(ordinal / words.length);
  const mark = 1 + Math.floor(repetition / EDITIONS.length);
  const model = `${cycle(words, ordinal)}${cycle(EDITIONS, repetition)}`;
  return {
    brand: cycle(brands, ordinal % words.length),
    model: mark === 1 ? model : `${model} Mark ${mark}`,
  };
}

/** Every first choice with every second one, such as sizes with colours. */
export function combine<A, B, C>(first: readonly A[], second: readonly B[], join: (a: A, b: B) => C): C[] {
  return first.flatMap((a) => second.map((b) => join(a, b)));
}

/** `count` elements of a list from `start` on, so that groups differ in their offers. */
export function takeInTurn(list: readonly string[], start: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => cycle(list, start + index));
}

function listImages(stem: string, ordinal: number): DemoProduct['images'] {
  const url = (folder: string) => `https://img.shop.example/${folder}/${stem}.jpg`;
  const images: DemoProduct['images'] = [
    { url: url('large'), type: 'LARGE' },
    { url: url('small'), type: 'SMALL' },
    { url: url('thumb'), type: 'THUMB' },
  ];
  if (ordinal % 3 === 0) images.push({ url: url('detail'), type: 'ALTERNATIVE' });
  return images;
}

/** The main category first; every ninth group is on sale as well. */
function listCategories(path: readonly string[], ordinal: number): DemoProduct['categories'] {
  const main = { path: [...path] };
  return ordinal % 9 === 4 ? [main, { path: ['Sale', ...path.slice(0, 1)] }] : [main];
}

function listAttributes(facts: Facts): DemoProduct['attributes'] {
  return Object.entries(facts).flatMap(([key, values]) => [values].flat().map((value) => ({ key, value })));
}

/** The price for everyone and, for some groups, one that only dealers see. */
function listPrices(euros: number, ordinal: number): DemoProduct['attributes'] {
  const price = roundToRetail(euros);
  const prices: DemoProduct['attributes'] = [{ key: 'Price', value: `${price.toFixed(2)} EUR` }];
  if (ordinal % 8 === 3) {
    const value = `${(price * 0.8).toFixed(2)} EUR`;
    prices.push({ key: 'Dealer price', value, userGroups: ['dealer'] });
  }
  return prices;
}

/** Prices as shops write them: 12.90 below a hundred, 1299.00 above. */
function roundToRetail(euros: number): number {
  return euros < 100 ? Math.floor(euros) + 0.9 : Math.round(euros / 10) * 10 - 1;
}

/** "Brake pads" inside a name becomes "brake pads", but "UV filter" stays. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
