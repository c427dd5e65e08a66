import { CAMERA_SYSTEMS, CARD_TYPES } from './photo-standards.ts';
import { type GroupPlan, MODEL_YEAR, measure, nameModel, type ProductLine, yesNo } from './product-group.ts';
import { cycle, type SeededRandom } from './seeded-random.ts';

const CAMERA_MODELS = ['Observer', 'Reporter', 'Voyager', 'Studio', 'Atelier', 'Chronicle', 'Pathfinder'];
const SUPPLY_BRANDS = ['Ampelo', 'Fotavik', 'Corbeam', 'Stashwell'];
const SUPPLY_MODELS = ['Endure', 'Reserve', 'Daylong', 'Steady', 'Pulse', 'Archive', 'Vault', 'Rapid'];

/** The contents of the box, and the price with them, in tenths of the camera's price. */
const DELIVERIES = [
  { label: 'body, black', colour: 'Black', lens: false, tenths: 10 },
  { label: 'body, silver', colour: 'Silver', lens: false, tenths: 10 },
  { label: 'with standard zoom, black', colour: 'Black', lens: true, tenths: 13 },
];

export const cameraLines: readonly ProductLine[] = [
  { code: 'CAM', groupsPerRound: 4, planGroup: planCamera },
  { code: 'BATT', groupsPerRound: 5, planGroup: planBattery },
  { code: 'CARD', groupsPerRound: 3, planGroup: planCard },
];

/** One camera: the body in two colours and a set with a lens. */
function planCamera(ordinal: number, random: SeededRandom): GroupPlan {
  const system = cycle(CAMERA_SYSTEMS, ordinal);
  const euros = 1900 * system.priceFactor * random.between(0.6, 1.8, 0.1);
  const weightG = 480 + random.between(0, 300, 5);
  return {
    brand: system.brand,
    model: nameModel(ordinal, SUPPLY_BRANDS, CAMERA_MODELS).model,
    kind: 'System camera',
    path: ['Photo', 'Cameras', system.sensor],
    euros,
    facts: {
      Mount: system.mount,
      Sensor: system.sensor,
      Resolution: measure(random.pick([20.1, 24.2, 26.1, 33, 45.7, 61]), 'MP'),
      'Battery type': random.pick(system.batteries),
      'Card type': system.cards,
      'Card slots': String(random.between(1, 2)),
      'Image stabilisation': yesNo(random.chance(0.7)),
      'Weather sealed': yesNo(random.chance(0.5)),
      'Burst rate': measure(random.pick([5, 8, 10, 15, 20]), 'fps'),
      'Model year': String(MODEL_YEAR - random.between(0, 4)),
    },
    variants: DELIVERIES.map(({ label, colour, lens, tenths }) => ({
      label,
      euros: (euros * tenths) / 10,
      facts: {
        Colour: colour,
        'Lens included': yesNo(lens),
        Weight: measure(lens ? weightG + 330 : weightG, 'g'),
      },
    })),
  };
}

/** One battery, single and as a twin pack. Each system's newer type also replaces the older one. */
function planBattery(ordinal: number, random: SeededRandom): GroupPlan {
  const { batteries } = cycle(CAMERA_SYSTEMS, ordinal);
  const [older, newer] = batteries;
  const isOlder = Math.floor(ordinal / CAMERA_SYSTEMS.length) % 2 === 0;
  const { brand, model } = nameModel(ordinal, SUPPLY_BRANDS, SUPPLY_MODELS);
  const euros = random.between(19, 75);
  return {
    brand,
    model: `${model} ${isOlder ? older : newer}`,
    kind: 'Camera battery',
    path: ['Photo', 'Batteries'],
    euros,
    facts: {
      'Battery type': isOlder ? older : [newer, older],
      'Battery capacity': measure(random.between(1100, 2300, 20), 'mAh'),
      Voltage: measure(7.2, 'V'),
      'USB charging': yesNo(random.chance(0.4)),
    },
    variants: [1, 2].map((pieces) => ({
      label: pieces === 1 ? 'single' : 'twin pack',
      euros: euros * (pieces === 1 ? 1 : 1.8),
      facts: { Pieces: String(pieces), Weight: measure(52 * pieces, 'g') },
    })),
  };
}

/** One memory card in five capacities. */
function planCard(ordinal: number, random: SeededRandom): GroupPlan {
  const cardType = cycle(CARD_TYPES, ordinal);
  const { brand, model } = nameModel(ordinal, SUPPLY_BRANDS, SUPPLY_MODELS);
  const base = cardType === 'QX-Pro' ? 40 : random.between(9, 16);
  return {
    brand,
    model: `${model} ${cardType}`,
    kind: 'Memory card',
    path: ['Photo', 'Memory cards', cardType],
    euros: base,
    facts: {
      'Card type': cardType,
      'Write speed': measure(cardType === 'QX-Pro' ? 1400 : random.pick([90, 160, 260]), 'MB/s'),
      Waterproof: yesNo(random.chance(0.6)),
    },
    variants: [64, 128, 256, 512, 1024].map((gigabytes) => ({
      label: `${gigabytes} GB`,
      euros: base + (base * gigabytes) / 140,
      facts: { 'Storage capacity': measure(gigabytes, 'GB') },
    })),
  };
}
