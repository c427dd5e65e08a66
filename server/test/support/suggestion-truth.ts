/** Catalogs with known relations, written by hand, and the share of them that suggestions find. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { draftAttribute, joinObserved, observeValue } from '../../src/catalog/ontology/drafts/drafts.ts';
import type { Attribute } from '../../src/catalog/ontology/ontology.ts';
import { CatalogSample } from '../../src/suggestions/catalog-sample.ts';
import type { RelationSuggestion } from '../../src/suggestions/suggestion-schemas.ts';
import { suggestAll } from '../../src/suggestions/suggestions.ts';
import { generateDemoCatalog } from './demo-shop/demo-shop.ts';

export interface TruthProduct {
  readonly identifier: string;
  readonly categories: readonly { readonly path: readonly string[] }[];
  readonly attributes: readonly { readonly key: string; readonly value: string }[];
}

/** Two categories, by the last names of their paths, and the match that relates them in either direction. */
export interface TrueRelation {
  readonly categories: readonly [string, string];
  readonly match: readonly [ofFirst: string, operator: 'equals' | 'upTo', ofSecond: string];
}

export interface TruthCatalog {
  readonly name: string;
  readonly products: readonly TruthProduct[];
  readonly relations: readonly TrueRelation[];
}

/** Attributes as a full update in automatic mode creates them. */
export function createOntology(products: readonly TruthProduct[], locale = 'en-US') {
  const observed = new Map<string, ReturnType<typeof observeValue>>();
  for (const { key, value } of products.flatMap(({ attributes }) => attributes))
    observed.set(key, joinObserved(observed.get(key), observeValue(value)));
  const attributes = [...observed].map(([name, seen], index): Attribute => {
    const { decidedBy: _, ...drafted } = draftAttribute({ id: index + 1, name }, seen, { locale });
    return drafted;
  });
  return { mode: 'automatic', revision: 1, attributes } as const;
}

export interface Score {
  readonly share: number;
  readonly missed: readonly TrueRelation[];
  readonly wrong: readonly string[];
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/**
 * A suggestion is right if it relates the categories of a true relation by its match. Further matches may narrow it.
 */
export function scoreSuggestions({ products, relations }: TruthCatalog): Score {
  const sample = new CatalogSample();
  for (const product of products) sample.add(product);
  const all = suggestAll(sample, createOntology(products), 'en-US');
  const suggested = all.filter(
    (suggestion): suggestion is RelationSuggestion => suggestion.kind === 'relation',
  );
  const isRight = (suggestion: RelationSuggestion, truth: TrueRelation) =>
    describeDraft(suggestion).includes(describeTruth(truth));
  const right = suggested.filter((suggestion) => relations.some((truth) => isRight(suggestion, truth)));
  const missed = relations.filter((truth) => !suggested.some((suggestion) => isRight(suggestion, truth)));
  const precision = suggested.length === 0 ? 1 : right.length / suggested.length;
  const recall = relations.length === 0 ? 1 : 1 - missed.length / relations.length;
  return {
    share: right.length,
    missed,
    precision,
    recall,
    wrong: suggested
      .filter((suggestion) => !right.includes(suggestion))
      .map((suggestion) => describeDraft(suggestion).join(' and ')),
    f1: precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall),
  };
}

const describeTruth = ({ categories: [first, second], match: [a, operator, b] }: TrueRelation) =>
  describeMatch([`${first}.${a}`, `${second}.${b}`], operator);

const describeMatch = (sides: readonly [string, string], operator: string) =>
  (operator === 'equals' ? sides.toSorted() : sides).join(` ${operator} `);

function describeDraft({ draft, evidence }: RelationSuggestion): string[] {
  const [source, target] = [evidence.source.category.at(-1), evidence.target.category.at(-1)];
  return draft.match.flatMap((match) => {
    if (!('target' in match)) return [];
    const sides: [string, string] = [
      `${target}.${String(match.target)}`,
      `${source}.${String(match.source)}`,
    ];
    if (match.operator === 'equals') return describeMatch(sides, 'equals');
    return describeMatch(match.operator === 'lessOrEqual' ? sides : [sides[1], sides[0]], 'upTo');
  });
}

/** The lensfun database: cameras and lenses are related only by their mount. */
export function readLensfun(): TruthCatalog | undefined {
  const folder = join(process.env.RELATA_TEST_DATA ?? join('..', 'shared', 'data'), 'lensfun');
  if (!existsSync(folder)) return undefined;
  const products = readdirSync(folder)
    .filter((name) => name.endsWith('.xml'))
    .flatMap((name) => readLensfunFile(readFileSync(join(folder, name), 'utf8'), name));
  return {
    name: 'lensfun',
    products,
    relations: [{ categories: ['camera', 'lens'], match: ['mount', 'equals', 'mount'] }],
  };
}

function readLensfunFile(text: string, name: string): TruthProduct[] {
  return [...text.matchAll(/<(camera|lens)>([\s\S]*?)<\/\1>/g)].map(([, kind = '', body = ''], index) => ({
    identifier: `${name}-${kind}-${index}`,
    categories: [{ path: [kind] }],
    attributes: [...body.matchAll(/<(maker|model|mount|type|cropfactor|aspect-ratio)>([^<]*)</g)].map(
      ([, key = '', value = '']) => ({ key, value }),
    ),
  }));
}

/** The demo shop, with the relations that fit its data. */
export const readDemoShop = (): TruthCatalog => ({
  name: 'demo shop',
  products: generateDemoCatalog(),
  relations: DEMO_TRUTH,
});

const equal = (first: string, second: string, attribute: string): TrueRelation => ({
  categories: [first, second],
  match: [attribute, 'equals', attribute],
});

const DEMO_TRUTH: readonly TrueRelation[] = [
  { categories: ['Tyres', 'Bicycles'], match: ['Tyre width', 'upTo', 'Maximum tyre width'] },
  equal('Bicycles', 'Tyres', 'Wheel size'),
  equal('Bicycles', 'Inner tubes', 'Wheel size'),
  equal('Tyres', 'Inner tubes', 'Wheel size'),
  equal('Bicycles', 'Brake pads', 'Brake standard'),
  equal('Bicycles', 'Chains', 'Speeds'),
  equal('Bicycles', 'Cassettes', 'Speeds'),
  equal('Cassettes', 'Chains', 'Speeds'),
  equal('Cameras', 'Lenses', 'Mount'),
  equal('Cameras', 'Batteries', 'Battery type'),
  equal('Cameras', 'Memory cards', 'Card type'),
  equal('Lenses', 'Filters', 'Filter diameter'),
];

type Values = Readonly<Record<string, string | readonly string[] | undefined>>;
export type Draw = (count: number) => number;

/** Numbers that look random and are the same for the same seed (mulberry32). */
export function createDraw(seed: number): Draw {
  let state = seed;
  return (count) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  };
}

/** Planted rules of every kind, among attributes that are often equal without relating anything. */
export function plantRelations(seed: number): TruthCatalog {
  const draw = createDraw(seed);
  const pick = <Item>(list: readonly Item[]): Item => list[draw(list.length)] as Item;
  const number = (from: number, to: number, step = 1) =>
    from + step * draw(Math.floor((to - from) / step) + 1);
  const decoys = (): Values => ({
    Brand: pick(['Acme', 'Borea', 'Cinder', 'Delta', 'Ember', 'Fjord']),
    Colour: pick(['black', 'white', 'red', 'blue']),
    Weight: `${number(1, 9)} kg`,
    Year: String(number(2018, 2025)),
    Approved: pick(['yes', 'no']),
  });
  const sockets = ['AM4', 'AM5', 'LGA1200', 'LGA1700', 'LGA1851'];
  const mounts = Array.from(
    { length: 80 },
    (_, index) => `Mount ${String.fromCharCode(65 + (index % 26))}${index}`,
  );
  const makers: Readonly<Record<string, () => Values>> = {
    Processors: () => ({ Socket: pick(sockets), 'Core count': String(number(4, 24, 2)) }),
    Motherboards: () => ({
      'CPU socket': pick(sockets),
      'Memory type': draw(100) < 55 ? 'DDR5' : pick(['DDR4', 'DDR3']),
      'Max memory': `${pick([64, 128, 192])} GB`,
      'Form factor': pick(['ATX', 'mATX', 'ITX']),
    }),
    Memory: () => ({
      'Memory type': draw(100) < 55 ? 'DDR5' : pick(['DDR4', 'DDR3']),
      Capacity: `${pick([16, 32, 96, 128, 256])} GB`,
    }),
    'Graphics cards': () => ({ Length: String(number(150, 360)), Memory: `${pick([4, 8, 16])} GB` }),
    Cases: () => ({
      'Max GPU length': String(number(200, 420)),
      'Max cooler height': `${number(120, 180)} mm`,
      'Fits boards': [...new Set([pick(['ATX', 'mATX']), 'ITX'])],
    }),
    Coolers: () => ({
      Height: `${number(60, 175)} mm`,
      Sockets: [...new Set([pick(sockets), pick(sockets), pick(sockets)])],
    }),
    Cameras: () => ({ Mount: pick(mounts), Sensor: pick(['full frame', 'crop']) }),
    // More values than the sixty that earlier versions read, and several values per lens.
    Lenses: () => ({
      Mount: [...new Set([pick(mounts), pick(mounts), pick(mounts)])],
      'Focal length': `${number(12, 400)} mm`,
    }),
    Frames: () => ({ 'Wheel size': `${pick([20, 24, 26, 28, 29])} in`, 'Maximum rider weight': '900 kg' }),
    Tyres: () => ({
      'Wheel size': `${pick([20, 24, 26, 28, 29])} in`,
      Tread: pick(['slick', 'knobby', 'semi']),
    }),
  };
  const products = Object.entries(makers).flatMap(([category, make]) =>
    Array.from({ length: category === 'Lenses' ? 300 : 150 }, (_, index) => ({
      identifier: `${category}-${index}`,
      categories: [{ path: ['Shop', category] }],
      attributes: Object.entries({ ...decoys(), ...make() }).flatMap(([key, value]) =>
        [value ?? []].flat().map((element) => ({ key, value: element })),
      ),
    })),
  );
  return { name: `planted ${seed}`, products, relations: PLANTED };
}

const PLANTED: readonly TrueRelation[] = [
  { categories: ['Processors', 'Motherboards'], match: ['Socket', 'equals', 'CPU socket'] },
  { categories: ['Motherboards', 'Memory'], match: ['Memory type', 'equals', 'Memory type'] },
  { categories: ['Memory', 'Motherboards'], match: ['Capacity', 'upTo', 'Max memory'] },
  { categories: ['Graphics cards', 'Cases'], match: ['Length', 'upTo', 'Max GPU length'] },
  { categories: ['Coolers', 'Cases'], match: ['Height', 'upTo', 'Max cooler height'] },
  { categories: ['Coolers', 'Processors'], match: ['Sockets', 'equals', 'Socket'] },
  { categories: ['Coolers', 'Motherboards'], match: ['Sockets', 'equals', 'CPU socket'] },
  { categories: ['Motherboards', 'Cases'], match: ['Form factor', 'equals', 'Fits boards'] },
  { categories: ['Cameras', 'Lenses'], match: ['Mount', 'equals', 'Mount'] },
  { categories: ['Frames', 'Tyres'], match: ['Wheel size', 'equals', 'Wheel size'] },
];
