import { CAMERA_SYSTEMS, FILTER_DIAMETERS_MM, type FilterDiameter } from './photo-standards.ts';
import { type GroupPlan, measure, nameModel, type ProductLine, takeInTurn, yesNo } from './product-group.ts';
import { cycle, type SeededRandom } from './seeded-random.ts';

interface LensDesign {
  /** Focal lengths in mm from shortest to longest; equal for a lens that does not zoom. */
  readonly zoom: readonly [from: number, to: number];
  readonly fNumber: number;
  readonly filterMm: FilterDiameter;
  readonly weightG: number;
  readonly euros: number;
}

const LENS_BRANDS = ['Optavell', 'Clarimont', 'Vitrane', 'Sundholm'];
const LENS_MODELS = ['Clarion', 'Aspect', 'Lumen', 'Vista', 'Portrait', 'Aperta', 'Meridian', 'Focale'];
const FILTER_BRANDS = ['Fotavik', 'Glasmere', 'Polarend'];
const FILTER_MODELS = ['Slim', 'Pure', 'Nano', 'Classic', 'Expedition', 'Brass'];

const LENS_DESIGNS: readonly LensDesign[] = [
  { zoom: [24, 70], fNumber: 2.8, filterMm: 82, weightG: 780, euros: 1400 },
  { zoom: [50, 50], fNumber: 1.8, filterMm: 49, weightG: 190, euros: 220 },
  { zoom: [70, 200], fNumber: 2.8, filterMm: 77, weightG: 1320, euros: 1900 },
  { zoom: [35, 35], fNumber: 1.4, filterMm: 67, weightG: 520, euros: 750 },
  { zoom: [16, 35], fNumber: 4, filterMm: 72, weightG: 510, euros: 950 },
  { zoom: [85, 85], fNumber: 1.8, filterMm: 62, weightG: 390, euros: 520 },
  { zoom: [100, 400], fNumber: 5.6, filterMm: 77, weightG: 1390, euros: 1700 },
  { zoom: [24, 24], fNumber: 2.8, filterMm: 46, weightG: 160, euros: 330 },
  { zoom: [18, 55], fNumber: 3.5, filterMm: 58, weightG: 310, euros: 340 },
  { zoom: [90, 90], fNumber: 2.8, filterMm: 55, weightG: 600, euros: 690 },
  { zoom: [28, 200], fNumber: 4.5, filterMm: 67, weightG: 560, euros: 640 },
  { zoom: [20, 20], fNumber: 2, filterMm: 52, weightG: 280, euros: 480 },
];

const EFFECTS = [
  { kind: 'UV filter', stops: 0, euros: 19 },
  { kind: 'Polarising filter', stops: 2, euros: 42 },
  { kind: 'Grey filter 8x', stops: 3, euros: 32 },
  { kind: 'Grey filter 64x', stops: 6, euros: 38 },
  { kind: 'Soft focus filter', stops: 0, euros: 45 },
];

export const lensLines: readonly ProductLine[] = [
  { code: 'LENS', groupsPerRound: 8, planGroup: planLens },
  { code: 'FILT', groupsPerRound: 3, planGroup: planFilter },
];

/** One lens, built for two to four camera mounts. */
function planLens(ordinal: number, random: SeededRandom): GroupPlan {
  const design = cycle(LENS_DESIGNS, ordinal);
  const [from, to] = design.zoom;
  const { brand, model } = nameModel(ordinal, LENS_BRANDS, LENS_MODELS);
  const focalLength = from === to ? `${from} mm` : `${from}-${to} mm`;
  const mounts = CAMERA_SYSTEMS.map((system) => system.mount);
  return {
    brand,
    model: `${model} ${focalLength} f/${design.fNumber}`,
    kind: 'Lens',
    path: ['Photo', 'Lenses', from === to ? 'Prime lenses' : 'Zoom lenses'],
    euros: design.euros * random.between(0.7, 1.5, 0.1),
    facts: {
      'Shortest focal length': measure(from, 'mm'),
      'Longest focal length': measure(to, 'mm'),
      'Largest aperture': `f/${design.fNumber}`,
      'Filter diameter': measure(design.filterMm, 'mm'),
      'Closest focus': measure(random.between(15, 90, 5), 'cm'),
      Autofocus: yesNo(random.chance(0.85)),
      'Image stabilisation': yesNo(from !== to && random.chance(0.6)),
      'Weather sealed': yesNo(random.chance(0.5)),
    },
    variants: takeInTurn(mounts, ordinal, random.between(2, 4)).map((mount, index) => ({
      label: `${mount} mount`,
      facts: { Mount: mount, Weight: measure(design.weightG + 12 * index, 'g') },
    })),
  };
}

/** One filter in every diameter. */
function planFilter(ordinal: number, random: SeededRandom): GroupPlan {
  const { kind, stops, euros } = cycle(EFFECTS, ordinal);
  return {
    ...nameModel(ordinal, FILTER_BRANDS, FILTER_MODELS),
    kind,
    path: ['Photo', 'Filters', kind],
    euros,
    facts: {
      'Light reduction': measure(stops, 'stops'),
      'Filter coating': yesNo(random.chance(0.7)),
      'Frame material': random.pick(['Aluminium', 'Brass']),
    },
    variants: FILTER_DIAMETERS_MM.map((diameterMm) => ({
      label: `${diameterMm} mm`,
      euros: (euros * diameterMm) / 52,
      facts: {
        'Filter diameter': measure(diameterMm, 'mm'),
        Weight: measure(Math.round(diameterMm / 3), 'g'),
      },
    })),
  };
}
