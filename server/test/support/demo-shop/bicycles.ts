import type { BicycleUse, BrakeStandard, WheelInches } from './bicycle-standards.ts';
import {
  combine,
  type GroupPlan,
  MODEL_YEAR,
  measure,
  nameModel,
  type ProductLine,
  takeInTurn,
  yesNo,
} from './product-group.ts';
import { cycle, type SeededRandom } from './seeded-random.ts';

interface Platform {
  readonly kind: string;
  readonly use: BicycleUse;
  readonly wheelInches: WheelInches;
  readonly maxTyreMm: number;
  readonly axle: string;
  readonly brakes: readonly BrakeStandard[];
  readonly speeds: readonly number[];
  readonly sizes: FrameSizes;
  readonly weightG: number;
  readonly euros: number;
}

/** Seat tube length in cm by frame size. */
type FrameSizes = readonly (readonly [label: string, seatTubeCm: number])[];

const BRANDS = ['Korvane', 'Hillmarch', 'Vandrel', 'Northpedal', 'Quillon'];
const MODELS = `
  Ridgeline Harrier Meridian Towpath Skylark Gravelback Escarp Bramble Contour Lantern Wayfarer
  Outcrop Tailwind Fernway Sundial Ironwood Riverbend Peregrine Slipstream Cobble Moorland Tangent
  Highgate Driftline Foxglove
`
  .trim()
  .split(/\s+/);
const COLOURS = ['Olive', 'Black', 'Sand', 'Petrol', 'Signal red', 'Silver', 'Night blue'];

const MOUNTAIN: FrameSizes = [
  ['S', 40],
  ['M', 44],
  ['L', 48],
  ['XL', 52],
];
const ROAD: FrameSizes = [
  ['XS', 50],
  ['S', 52],
  ['M', 54],
  ['L', 56],
  ['XL', 58],
];
const CITY: FrameSizes = [
  ['S', 46],
  ['M', 50],
  ['L', 55],
];
const KIDS: FrameSizes = [['One size', 28]];

const PLATFORMS: readonly Platform[] = [
  {
    kind: 'Hardtail mountain bike',
    use: 'Mountain',
    wheelInches: 29,
    maxTyreMm: 60,
    axle: '12x148',
    brakes: ['Disc A2', 'Disc M2'],
    speeds: [11, 12],
    sizes: MOUNTAIN,
    weightG: 13_400,
    euros: 1300,
  },
  {
    kind: 'Racing bike',
    use: 'Road',
    wheelInches: 28,
    maxTyreMm: 32,
    axle: '12x142',
    brakes: ['Flat F1', 'Rim caliper'],
    speeds: [11, 12],
    sizes: ROAD,
    weightG: 8200,
    euros: 2400,
  },
  {
    kind: 'City bike',
    use: 'City',
    wheelInches: 28,
    maxTyreMm: 50,
    axle: 'QR 135',
    brakes: ['V-brake', 'Disc M2'],
    speeds: [7, 8, 9],
    sizes: CITY,
    weightG: 16_800,
    euros: 690,
  },
  {
    kind: 'Gravel bike',
    use: 'Gravel',
    wheelInches: 28,
    maxTyreMm: 45,
    axle: '12x142',
    brakes: ['Flat F1', 'Disc A2'],
    speeds: [10, 11, 12],
    sizes: ROAD,
    weightG: 9800,
    euros: 1900,
  },
  {
    kind: 'Trail bike',
    use: 'Mountain',
    wheelInches: 27.5,
    maxTyreMm: 66,
    axle: '12x148',
    brakes: ['Disc A4', 'Disc M4'],
    speeds: [11, 12],
    sizes: MOUNTAIN,
    weightG: 14_600,
    euros: 2900,
  },
  {
    kind: 'Compact city bike',
    use: 'City',
    wheelInches: 26,
    maxTyreMm: 50,
    axle: 'QR 135',
    brakes: ['V-brake'],
    speeds: [1, 7],
    sizes: CITY,
    weightG: 15_900,
    euros: 520,
  },
  {
    kind: 'Adventure bike',
    use: 'Gravel',
    wheelInches: 27.5,
    maxTyreMm: 50,
    axle: '12x142',
    brakes: ['Disc A2', 'Disc M2'],
    speeds: [10, 11],
    sizes: ROAD,
    weightG: 10_900,
    euros: 1700,
  },
  {
    kind: "Children's bike",
    use: 'Kids',
    wheelInches: 20,
    maxTyreMm: 54,
    axle: 'Nutted',
    brakes: ['V-brake'],
    speeds: [1, 7],
    sizes: KIDS,
    weightG: 8600,
    euros: 340,
  },
  {
    kind: 'Dirt bike',
    use: 'Mountain',
    wheelInches: 26,
    maxTyreMm: 56,
    axle: 'QR 135',
    brakes: ['Disc A4'],
    speeds: [9, 10],
    sizes: MOUNTAIN,
    weightG: 14_100,
    euros: 980,
  },
  {
    kind: "Children's bike",
    use: 'Kids',
    wheelInches: 24,
    maxTyreMm: 54,
    axle: 'Nutted',
    brakes: ['V-brake'],
    speeds: [7, 8],
    sizes: KIDS,
    weightG: 10_300,
    euros: 390,
  },
  {
    kind: "Learner's bike",
    use: 'Kids',
    wheelInches: 16,
    maxTyreMm: 47,
    axle: 'Nutted',
    brakes: ['V-brake'],
    speeds: [1],
    sizes: KIDS,
    weightG: 6400,
    euros: 270,
  },
];

const CATEGORIES: Readonly<Record<BicycleUse, string>> = {
  Mountain: 'Mountain bikes',
  Gravel: 'Gravel bikes',
  Road: 'Racing bikes',
  City: 'City bikes',
  Kids: "Children's bikes",
};

export const bicycleLines: readonly ProductLine[] = [
  { code: 'BIKE', groupsPerRound: 6, planGroup: planBicycle },
];

/** One model of bicycle: its frame sizes in two colours. */
function planBicycle(ordinal: number, random: SeededRandom): GroupPlan {
  const platform = cycle(PLATFORMS, ordinal);
  const colours = takeInTurn(COLOURS, ordinal, 2);
  const isSporty = platform.use !== 'City' && platform.use !== 'Kids';
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: platform.kind,
    path: ['Bicycles', CATEGORIES[platform.use]],
    euros: platform.euros * random.between(0.8, 1.8, 0.1),
    facts: {
      'Bicycle type': platform.use,
      'Wheel size': measure(platform.wheelInches, 'in'),
      'Maximum tyre width': measure(platform.maxTyreMm, 'mm'),
      'Axle standard': platform.axle,
      'Brake standard': random.pick(platform.brakes),
      Speeds: String(random.pick(platform.speeds)),
      'Frame material': random.pick(isSporty ? ['Aluminium', 'Steel', 'Carbon'] : ['Aluminium', 'Steel']),
      'Tubeless ready': yesNo(isSporty && random.chance(0.7)),
      'Lights included': yesNo(platform.use === 'City'),
      'Model year': String(MODEL_YEAR - random.between(0, 2)),
    },
    variants: combine(platform.sizes, colours, ([size, seatTubeCm], colour) => ({
      label: `${size}, ${colour.toLowerCase()}`,
      facts: {
        'Frame size': size,
        'Seat tube length': measure(seatTubeCm, 'cm'),
        Colour: colour,
        Weight: measure(platform.weightG + 15 * (seatTubeCm - 48), 'g'),
      },
    })),
  };
}
