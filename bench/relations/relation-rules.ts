import type { Filter, Operator } from '../../server/src/catalog/filters/filters.ts';
import type { RelationDefinition } from '../../server/src/relations/relation-definitions/relation-schemas.ts';

/**
 * Relations over the synthetic products. On average, a product is on three sides of the ten relations. It is on the
 * source side of about every third relation, because one thing in a shop leads to few others, and otherwise on the
 * target side.
 */

/**
 * The part of the ontology that the relations need before the first product exists. Uploads add the other attributes.
 */
export const ATTRIBUTES = [
  ...['Brand', 'Colour', 'Material', 'Country of origin', 'Energy class', 'Condition'].map((name) => ({
    name,
    type: 'TEXT_ATTRIBUTE',
  })),
  ...Object.entries({
    Length: 'mm',
    Width: 'mm',
    Height: 'mm',
    Weight: 'kg',
    Power: 'W',
    Price: 'EUR',
    'Delivery time': 'd',
  }).map(([name, unitName]) => ({ name, type: 'NUMERIC_ATTRIBUTE', unitName })),
];

export const TAGS = ['accessories', 'alternatives', 'sets'];

/** A seventh of the catalog each. */
const areas = (...names: readonly string[]): Filter => ({
  any: names.map((name) => ({ category: ['All products', name] })),
});

/** A seventieth of the catalog each. */
const kinds = (area: string, ...names: readonly string[]): Filter => ({
  any: names.map((name) => ({ category: ['All products', area, name] })),
});

const isInCondition = (value: string): Filter => ({ attribute: 'Condition', operator: 'equals', value });

const EVERYTHING: Filter = { all: [] };

/** Seen from the target: the same attribute on both sides. */
const match = (operator: Operator, ...attributes: readonly string[]) =>
  attributes.map((name) => ({ target: name, operator, source: name }));

type Sorted = `${string} ${'asc' | 'desc'}`;

const sortBy = (...sorts: readonly Sorted[]) =>
  sorts.map((text) => {
    const end = text.lastIndexOf(' ');
    return { attribute: text.slice(0, end), direction: text.slice(end + 1) as 'asc' | 'desc' };
  });

type Rule = Pick<RelationDefinition, 'name' | 'source' | 'target' | 'match' | 'sort'> & {
  readonly twoWay?: boolean;
};

const define = (tag: string, rule: Rule): RelationDefinition => ({
  twoWay: false,
  enabled: true,
  excludeSameGroup: true,
  ...rule,
  tag,
  names: [{ locale: 'en-GB', name: rule.name }],
});

const ACCESSORIES: readonly Rule[] = [
  {
    name: 'From the same brand',
    source: kinds('Workshop', 'Drills', 'Saws'),
    target: areas('Household', 'Electrical'),
    match: match('equals', 'Brand'),
    sort: sortBy('Price asc'),
  },
  {
    name: 'In the same finish',
    source: kinds('Garden', 'Pumps', 'Lamps'),
    target: areas('Outdoor', 'Garden'),
    match: match('equals', 'Colour', 'Material'),
    sort: sortBy('Price desc'),
  },
  {
    name: 'Fits inside',
    source: kinds('Household', 'Shelves', 'Chairs'),
    target: areas('Household', 'Office'),
    match: [...match('equals', 'Colour'), ...match('less', 'Length')],
    sort: sortBy('Length desc'),
  },
  {
    name: 'Runs on its power',
    source: kinds('Electrical', 'Lamps', 'Fans'),
    target: areas('Electrical', 'Workshop'),
    match: [...match('equals', 'Energy class'), ...match('lessOrEqual', 'Power')],
    sort: sortBy('Price asc'),
  },
];

const ALTERNATIVES: readonly Rule[] = [
  {
    name: 'Cheaper',
    source: kinds('Bathroom', 'Taps', 'Scales'),
    target: areas('Bathroom', 'Household'),
    match: [...match('equals', 'Material'), ...match('less', 'Price')],
    sort: sortBy('Price desc'),
  },
  {
    name: 'Refurbished',
    source: { all: [kinds('Office', 'Lamps', 'Chairs'), isInCondition('new')] },
    target: { all: [areas('Office'), isInCondition('refurbished')] },
    match: match('equals', 'Energy class'),
    sort: sortBy('Price asc'),
    twoWay: true,
  },
  {
    name: 'Delivered as soon',
    source: kinds('Outdoor', 'Tents', 'Chairs'),
    target: areas('Outdoor', 'Garden'),
    match: [...match('equals', 'Country of origin'), ...match('lessOrEqual', 'Delivery time')],
    sort: sortBy('Delivery time asc', 'Price asc'),
  },
];

const SETS: readonly Rule[] = [
  {
    name: 'Of one series',
    source: kinds('Workshop', 'Shelves', 'Fans'),
    target: areas('Workshop', 'Bathroom', 'Office'),
    match: match('equals', 'Brand', 'Energy class'),
    sort: sortBy('Weight asc'),
  },
  {
    name: 'A case around it',
    source: kinds('Outdoor', 'Lamps', 'Scales'),
    target: areas('Outdoor', 'Garden'),
    match: match('greater', 'Width', 'Height'),
    sort: sortBy('Price asc'),
  },
  {
    name: 'Bought by everybody',
    source: kinds('Electrical', 'Drills', 'Saws'),
    target: areas('Workshop', 'Garden'),
    match: [],
    sort: sortBy('Price asc'),
  },
];

export const TEN_RELATIONS: readonly RelationDefinition[] = [
  ...ACCESSORIES.map((rule) => define('accessories', rule)),
  ...ALTERNATIVES.map((rule) => define('alternatives', rule)),
  ...SETS.map((rule) => define('sets', rule)),
];

/** Each of the ten relations, three times under its tag. */
export const THIRTY_RELATIONS: readonly RelationDefinition[] = [1, 2, 3].flatMap((part) =>
  TEN_RELATIONS.map((one) => ({ ...one, name: `${one.name}, part ${part}` })),
);

/** The greatest width of all products. */
export const GREATEST_WIDTH_MM = 90;

const fruitless = (name: string, matches: RelationDefinition['match']) =>
  define('fruitless', {
    name,
    source: { attribute: 'Width', operator: 'equals', value: GREATEST_WIDTH_MM },
    target: EVERYTHING,
    match: matches,
    sort: sortBy('Price asc'),
  });

/** Every product is a target, and none matches, because it would have to be wider than the widest product. */
export const FRUITLESS_RELATIONS = {
  oneComparison: fruitless('Wider, in the same colour', [
    ...match('equals', 'Colour'),
    ...match('greater', 'Width'),
  ]),
  /** The first comparison leaves half of the catalog for the other comparisons. */
  severalComparisons: fruitless('Longer and wider', [
    ...match('greaterOrEqual', 'Length'),
    ...match('lessOrEqual', 'Weight'),
    ...match('greater', 'Width'),
  ]),
};
