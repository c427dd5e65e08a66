/**
 * Two shops whose relations were written down before any rule was tested on them. Matching attributes have different
 * names on the two sides, some are lists, and many are equal by chance.
 */
import { createDraw, type Draw, type TrueRelation, type TruthCatalog } from './suggestion-truth.ts';

type Values = Readonly<Record<string, string | number | readonly (string | number)[] | undefined>>;

interface Picks {
  readonly draw: Draw;
  pick<Item>(list: readonly Item[]): Item;
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
  const pick = <Item>(list: readonly Item[]): Item => list[draw(list.length)] as Item;
  const some = <Item>(list: readonly Item[], most: number) => [
    ...new Set(Array.from({ length: most }, () => pick(list))),
  ];
  const picks = { draw, pick, some };
  const products = Object.entries(makers).flatMap(([category, [count, make]]) =>
    Array.from({ length: count }, (_, index) => ({
      identifier: `${category}-${index}`,
      categories: [{ path: ['Shop', category] }],
      attributes: Object.entries({ ...decoys(picks), ...make(picks) }).flatMap(([key, value]) =>
        [value ?? []].flat().map((text) => ({ key, value: String(text) })),
      ),
    })),
  );
  return { name, products, relations };
}

/** Two categories, then one attribute of each. */
const same = (...[first, second, pick, other]: readonly [string, string, string, string]): TrueRelation => ({
  categories: [first, second],
  match: [pick, 'equals', other],
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
  decoys: ({ draw, pick }) => ({
    Brand: pick(['Makwell', 'Boschner', 'Dewatt', 'Millwauk', 'Festwerk']),
    Colour: pick(['blue', 'red', 'yellow', 'green', 'black']),
    Warranty: `${pick([1, 2, 3])} years`,
    Price: `${5 + draw(400)}.${10 + draw(90)} EUR`,
    'Country of origin': pick(['DE', 'CN', 'CZ', 'RO']),
    EAN: String(4_000_000_000_000 + draw(1_000_000_000)),
    Weight: `${(1 + draw(500)) / 100} kg`,
  }),
  makers: {
    'Cordless drills': [
      140,
      ({ pick }) => ({
        'Battery platform': pick(PLATFORMS),
        'Max. torque': `${pick([30, 54, 80, 120])} Nm`,
        Chuck: pick(['13 mm', '10 mm']),
      }),
    ],
    // Some have a cable.
    'Rotary hammers': [
      110,
      ({ draw, pick }) => ({
        'Tool holder': pick(TOOL_HOLDERS),
        Power: `${pick([600, 800, 1100, 1500])} W`,
        'Battery platform': draw(10) < 6 ? pick(PLATFORMS) : undefined,
      }),
    ],
    'Battery packs': [
      90,
      ({ pick }) => ({ System: pick(PLATFORMS), Capacity: `${pick([2, 4, 5, 6, 8])} Ah` }),
    ],
    Chargers: [
      45,
      ({ pick, some }) => ({
        'Compatible systems': some(PLATFORMS, 3),
        'Charging current': `${pick([3, 6, 9])} A`,
      }),
    ],
    'Masonry drill bits': [
      220,
      ({ pick }) => ({
        Shank: pick(TOOL_HOLDERS),
        Diameter: `${pick([5, 6, 8, 10, 12, 14, 16, 20])} mm`,
        Length: `${pick([110, 160, 210, 310, 450])} mm`,
      }),
    ],
    'Mitre saws': [
      120,
      ({ pick }) => ({
        'Blade diameter': `${pick(BLADES)} mm`,
        Bore: pick(BORES),
        Power: `${pick([1000, 1200, 1650, 1800])} W`,
        'Dust port': `${pick(PORTS)} mm`,
      }),
    ],
    'Circular saw blades': [
      200,
      ({ pick }) => ({
        'Outer diameter': `${pick(BLADES)} mm`,
        'Bore diameter': pick(BORES),
        Teeth: pick([24, 40, 48, 60, 80]),
      }),
    ],
    'Random orbit sanders': [
      60,
      ({ pick }) => ({
        'Pad size': `${pick([125, 150, 225])} mm`,
        'Dust port': `${pick(PORTS)} mm`,
        Holes: pick([8, 15, 21]),
      }),
    ],
    'Sanding discs': [
      180,
      ({ pick }) => ({
        'Disc diameter': `${pick([125, 150, 225])} mm`,
        Grit: pick([40, 60, 80, 120, 180, 240]),
        'Pack size': pick([5, 10, 50]),
      }),
    ],
    'Vacuum hoses': [
      50,
      ({ pick }) => ({ 'Connector diameter': `${pick(PORTS)} mm`, Length: `${pick([2, 3, 3.5, 5])} m` }),
    ],
    'Tool cases': [
      80,
      ({ pick }) => ({ 'Internal width': `${pick([300, 350, 400, 450])} mm`, 'Stackable with': pick(CASES) }),
    ],
    'Case inserts': [60, ({ pick }) => ({ 'Fits case': pick(CASES) })],
    Gloves: [
      90,
      ({ pick }) => ({ Size: pick(['S', 'M', 'L', 'XL']), Material: pick(['leather', 'nylon', 'nitrile']) }),
    ],
    'Work trousers': [
      90,
      ({ pick }) => ({ Size: pick(['S', 'M', 'L', 'XL']), Material: pick(['cotton', 'nylon', 'polyester']) }),
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

const PHONES = Array.from({ length: 30 }, (_, index) => `Nova ${index + 3}${index % 3 === 0 ? ' Pro' : ''}`);
const SOCKETS = ['E27', 'E14', 'GU10', 'G9'];
const PIPES = [12, 15, 18, 22, 28, 35];
const THREADS = ['G 3/8', 'G 1/2', 'M10x1'];
const CAPSULES = ['Nespresso', 'Dolce Gusto', 'Tassimo', 'Senseo'];
const HOBS = ['Induction', 'Gas', 'Ceramic'];

const HOME_SHOP: Shop = {
  name: 'home shop',
  seed: 99,
  decoys: ({ pick }) => ({
    Manufacturer: pick(['Alba', 'Borg', 'Cira', 'Dorn']),
    Color: pick(['white', 'black', 'chrome']),
    'Energy class': pick(['A+', 'B', 'C']),
    Height: `${pick([10, 20, 30, 40, 50])} cm`,
    'Package contents': pick([1, 2, 5]),
  }),
  makers: {
    Luminaires: [
      120,
      ({ pick }) => ({ Socket: pick(SOCKETS), Style: pick(['Modern', 'Rustic', 'Classic']) }),
    ],
    'Light bulbs': [
      150,
      ({ pick }) => ({ Base: pick(SOCKETS), 'Luminous flux': `${pick([400, 806, 1055])} lm` }),
    ],
    Pipes: [80, ({ pick }) => ({ 'Outside diameter': `${pick(PIPES)} mm`, Length: `${pick([1, 2, 3])} m` })],
    'Pipe fittings': [
      140,
      ({ pick }) => ({ 'For pipe size': `${pick(PIPES)} mm`, Shape: pick(['Elbow', 'Tee', 'Coupling']) }),
    ],
    'Kitchen taps': [60, ({ pick }) => ({ 'Connection thread': pick(THREADS) })],
    'Supply hoses': [60, ({ pick }) => ({ Thread: pick(THREADS), Length: `${pick([0.3, 0.5, 1])} m` })],
    Phones: [30, ({ pick }) => ({ Model: pick(PHONES), Screen: `${pick([6.1, 6.5, 6.7])} in` })],
    'Phone cases': [
      160,
      ({ pick, some }) => ({ 'Compatible with': some(PHONES, 3), Material: pick(['Silicone', 'Leather']) }),
    ],
    'Coffee machines': [
      70,
      ({ pick }) => ({ 'Capsule system': pick(CAPSULES), Pressure: `${pick([15, 19])} bar` }),
    ],
    'Coffee capsules': [110, ({ pick }) => ({ System: pick(CAPSULES), Intensity: pick([4, 6, 8, 10]) })],
    Pans: [
      60,
      ({ pick, some }) => ({ Diameter: `${pick([20, 24, 28, 32])} cm`, 'Suitable hob': some(HOBS, 2) }),
    ],
    'Pan lids': [40, ({ pick }) => ({ 'Lid diameter': `${pick([20, 24, 28, 32])} cm` })],
    Hobs: [40, ({ pick }) => ({ 'Hob type': pick(HOBS), Width: `${pick([60, 70, 80, 90])} cm` })],
    Shelves: [
      70,
      ({ pick }) => ({ Width: `${pick([40, 60, 80, 100])} cm`, Depth: `${pick([20, 30, 40])} cm` }),
    ],
    Cabinets: [
      70,
      ({ pick }) => ({ Depth: `${pick([30, 40, 60])} cm`, Width: `${pick([40, 60, 80, 100])} cm` }),
    ],
    Curtains: [
      50,
      ({ pick }) => ({ Drop: `${pick([140, 160, 180, 220])} cm`, Pattern: pick(['Plain', 'Striped']) }),
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
