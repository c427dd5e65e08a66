/**
 * Two shops whose relations were written down before any rule was tested on them. Matching attributes have different
 * names on the two sides, some are lists, and many are equal by chance.
 */
import { createDraw, type Draw, type TrueRelation, type TruthCatalog } from './suggestion-truth.ts';

type Values = Readonly<Record<string, string | number | readonly (string | number)[] | undefined>>;

interface Picks {
  readonly draw: Draw;
  one<Item>(list: readonly Item[]): Item;
  /** Up to `most` distinct items. */
  some<Item>(list: readonly Item[], most: number): Item[];
}

interface Shop {
  readonly name: string;
  readonly seed: number;
  decoys(picks: Picks): Values;
  /** By category: the number of products, and a function that makes one. */
  readonly makers: Readonly<Record<string, readonly [count: number, make: (picks: Picks) => Values]>>;
  readonly relations: readonly TrueRelation[];
}

function open({ name, seed, decoys, makers, relations }: Shop): TruthCatalog {
  const draw = createDraw(seed);
  const one = <Item>(list: readonly Item[]): Item => list[draw(list.length)] as Item;
  const some = <Item>(list: readonly Item[], most: number) => [
    ...new Set(Array.from({ length: most }, () => one(list))),
  ];
  const picks = { draw, one, some };
  const products = Object.entries(makers).flatMap(([category, [count, make]]) =>
    Array.from({ length: count }, (_, at) => ({
      identifier: `${category}-${at}`,
      categories: [{ path: ['Shop', category] }],
      attributes: Object.entries({ ...decoys(picks), ...make(picks) }).flatMap(([key, value]) =>
        [value ?? []].flat().map((text) => ({ key, value: String(text) })),
      ),
    })),
  );
  return { name, products, relations };
}

/** Two categories, then one attribute of each. */
const same = (...[first, second, one, other]: readonly [string, string, string, string]): TrueRelation => ({
  categories: [first, second],
  match: [one, 'equals', other],
});

const PLATFORMS = ['18V LXT', '18V ProCore', '20V XR', 'M18', 'M12', '12V CXT', '40V XGT'];
const BLADES = [160, 165, 190, 216, 235, 254, 305];
const BORES = ['20 mm', '30 mm', '15.875 mm', '25.4 mm'];
const PORTS = [27, 32, 35, 38, 50];
const CASES = ['Systainer', 'L-Boxx', 'Makpac'];
const TOOL_HOLDERS = ['SDS-plus', 'SDS-max'];

const TOOL_SHOP: Shop = {
  name: 'tool shop',
  seed: 7,
  decoys: ({ draw, one }) => ({
    Brand: one(['Makwell', 'Boschner', 'Dewatt', 'Millwauk', 'Festwerk']),
    Colour: one(['blue', 'red', 'yellow', 'green', 'black']),
    Warranty: `${one([1, 2, 3])} years`,
    Price: `${5 + draw(400)}.${10 + draw(90)} EUR`,
    'Country of origin': one(['DE', 'CN', 'CZ', 'RO']),
    EAN: String(4_000_000_000_000 + draw(1_000_000_000)),
    Weight: `${(1 + draw(500)) / 100} kg`,
  }),
  makers: {
    'Cordless drills': [
      140,
      ({ one }) => ({
        'Battery platform': one(PLATFORMS),
        'Max. torque': `${one([30, 54, 80, 120])} Nm`,
        Chuck: one(['13 mm', '10 mm']),
      }),
    ],
    // Some have a cable.
    'Rotary hammers': [
      110,
      ({ draw, one }) => ({
        'Tool holder': one(TOOL_HOLDERS),
        Power: `${one([600, 800, 1100, 1500])} W`,
        'Battery platform': draw(10) < 6 ? one(PLATFORMS) : undefined,
      }),
    ],
    'Battery packs': [90, ({ one }) => ({ System: one(PLATFORMS), Capacity: `${one([2, 4, 5, 6, 8])} Ah` })],
    Chargers: [
      45,
      ({ one, some }) => ({
        'Compatible systems': some(PLATFORMS, 3),
        'Charging current': `${one([3, 6, 9])} A`,
      }),
    ],
    'Masonry drill bits': [
      220,
      ({ one }) => ({
        Shank: one(TOOL_HOLDERS),
        Diameter: `${one([5, 6, 8, 10, 12, 14, 16, 20])} mm`,
        Length: `${one([110, 160, 210, 310, 450])} mm`,
      }),
    ],
    'Mitre saws': [
      120,
      ({ one }) => ({
        'Blade diameter': `${one(BLADES)} mm`,
        Bore: one(BORES),
        Power: `${one([1000, 1200, 1650, 1800])} W`,
        'Dust port': `${one(PORTS)} mm`,
      }),
    ],
    'Circular saw blades': [
      200,
      ({ one }) => ({
        'Outer diameter': `${one(BLADES)} mm`,
        'Bore diameter': one(BORES),
        Teeth: one([24, 40, 48, 60, 80]),
      }),
    ],
    'Random orbit sanders': [
      60,
      ({ one }) => ({
        'Pad size': `${one([125, 150, 225])} mm`,
        'Dust port': `${one(PORTS)} mm`,
        Holes: one([8, 15, 21]),
      }),
    ],
    'Sanding discs': [
      180,
      ({ one }) => ({
        'Disc diameter': `${one([125, 150, 225])} mm`,
        Grit: one([40, 60, 80, 120, 180, 240]),
        'Pack size': one([5, 10, 50]),
      }),
    ],
    'Vacuum hoses': [
      50,
      ({ one }) => ({ 'Connector diameter': `${one(PORTS)} mm`, Length: `${one([2, 3, 3.5, 5])} m` }),
    ],
    'Tool cases': [
      80,
      ({ one }) => ({ 'Internal width': `${one([300, 350, 400, 450])} mm`, 'Stackable with': one(CASES) }),
    ],
    'Case inserts': [60, ({ one }) => ({ 'Fits case': one(CASES) })],
    Gloves: [
      90,
      ({ one }) => ({ Size: one(['S', 'M', 'L', 'XL']), Material: one(['leather', 'nylon', 'nitrile']) }),
    ],
    'Work trousers': [
      90,
      ({ one }) => ({ Size: one(['S', 'M', 'L', 'XL']), Material: one(['cotton', 'nylon', 'polyester']) }),
    ],
  },
  relations: [
    same('Cordless drills', 'Battery packs', 'Battery platform', 'System'),
    same('Rotary hammers', 'Battery packs', 'Battery platform', 'System'),
    same('Cordless drills', 'Chargers', 'Battery platform', 'Compatible systems'),
    same('Rotary hammers', 'Chargers', 'Battery platform', 'Compatible systems'),
    same('Battery packs', 'Chargers', 'System', 'Compatible systems'),
    same('Rotary hammers', 'Masonry drill bits', 'Tool holder', 'Shank'),
    same('Mitre saws', 'Circular saw blades', 'Blade diameter', 'Outer diameter'),
    same('Mitre saws', 'Circular saw blades', 'Bore', 'Bore diameter'),
    same('Random orbit sanders', 'Sanding discs', 'Pad size', 'Disc diameter'),
    same('Mitre saws', 'Vacuum hoses', 'Dust port', 'Connector diameter'),
    same('Random orbit sanders', 'Vacuum hoses', 'Dust port', 'Connector diameter'),
    same('Tool cases', 'Case inserts', 'Stackable with', 'Fits case'),
  ],
};

const PHONES = Array.from({ length: 30 }, (_, at) => `Nova ${at + 3}${at % 3 === 0 ? ' Pro' : ''}`);
const SOCKETS = ['E27', 'E14', 'GU10', 'G9'];
const PIPES = [12, 15, 18, 22, 28, 35];
const THREADS = ['G 3/8', 'G 1/2', 'M10x1'];
const CAPSULES = ['Nespresso', 'Dolce Gusto', 'Tassimo', 'Senseo'];
const HOBS = ['Induction', 'Gas', 'Ceramic'];

const HOME_SHOP: Shop = {
  name: 'home shop',
  seed: 99,
  decoys: ({ one }) => ({
    Manufacturer: one(['Alba', 'Borg', 'Cira', 'Dorn']),
    Color: one(['white', 'black', 'chrome']),
    'Energy class': one(['A+', 'B', 'C']),
    Height: `${one([10, 20, 30, 40, 50])} cm`,
    'Package contents': one([1, 2, 5]),
  }),
  makers: {
    Luminaires: [120, ({ one }) => ({ Socket: one(SOCKETS), Style: one(['Modern', 'Rustic', 'Classic']) })],
    'Light bulbs': [
      150,
      ({ one }) => ({ Base: one(SOCKETS), 'Luminous flux': `${one([400, 806, 1055])} lm` }),
    ],
    Pipes: [80, ({ one }) => ({ 'Outside diameter': `${one(PIPES)} mm`, Length: `${one([1, 2, 3])} m` })],
    'Pipe fittings': [
      140,
      ({ one }) => ({ 'For pipe size': `${one(PIPES)} mm`, Shape: one(['Elbow', 'Tee', 'Coupling']) }),
    ],
    'Kitchen taps': [60, ({ one }) => ({ 'Connection thread': one(THREADS) })],
    'Supply hoses': [60, ({ one }) => ({ Thread: one(THREADS), Length: `${one([0.3, 0.5, 1])} m` })],
    Phones: [30, ({ one }) => ({ Model: one(PHONES), Screen: `${one([6.1, 6.5, 6.7])} in` })],
    'Phone cases': [
      160,
      ({ one, some }) => ({ 'Compatible with': some(PHONES, 3), Material: one(['Silicone', 'Leather']) }),
    ],
    'Coffee machines': [
      70,
      ({ one }) => ({ 'Capsule system': one(CAPSULES), Pressure: `${one([15, 19])} bar` }),
    ],
    'Coffee capsules': [110, ({ one }) => ({ System: one(CAPSULES), Intensity: one([4, 6, 8, 10]) })],
    Pans: [
      60,
      ({ one, some }) => ({ Diameter: `${one([20, 24, 28, 32])} cm`, 'Suitable hob': some(HOBS, 2) }),
    ],
    'Pan lids': [40, ({ one }) => ({ 'Lid diameter': `${one([20, 24, 28, 32])} cm` })],
    Hobs: [40, ({ one }) => ({ 'Hob type': one(HOBS), Width: `${one([60, 70, 80, 90])} cm` })],
    Shelves: [70, ({ one }) => ({ Width: `${one([40, 60, 80, 100])} cm`, Depth: `${one([20, 30, 40])} cm` })],
    Cabinets: [
      70,
      ({ one }) => ({ Depth: `${one([30, 40, 60])} cm`, Width: `${one([40, 60, 80, 100])} cm` }),
    ],
    Curtains: [
      50,
      ({ one }) => ({ Drop: `${one([140, 160, 180, 220])} cm`, Pattern: one(['Plain', 'Striped']) }),
    ],
  },
  relations: [
    same('Luminaires', 'Light bulbs', 'Socket', 'Base'),
    same('Pipes', 'Pipe fittings', 'Outside diameter', 'For pipe size'),
    same('Kitchen taps', 'Supply hoses', 'Connection thread', 'Thread'),
    same('Phones', 'Phone cases', 'Model', 'Compatible with'),
    same('Coffee machines', 'Coffee capsules', 'Capsule system', 'System'),
    same('Pans', 'Pan lids', 'Diameter', 'Lid diameter'),
    same('Pans', 'Hobs', 'Suitable hob', 'Hob type'),
  ],
};

export const readShops = (): TruthCatalog[] => [TOOL_SHOP, HOME_SHOP].map(open);
