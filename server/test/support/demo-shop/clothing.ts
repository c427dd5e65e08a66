import {
  combine,
  type GroupPlan,
  measure,
  nameModel,
  type ProductLine,
  takeInTurn,
  yesNo,
} from './product-group.ts';
import { cycle, type SeededRandom } from './seeded-random.ts';

interface Garment {
  readonly kind: string;
  readonly category: string;
  readonly activities: readonly string[];
  readonly materials: readonly string[];
  readonly weightG: number;
  readonly euros: number;
  /** Height of water that the fabric withstands; undefined for garments that are not waterproof. */
  readonly waterColumnMm?: number;
}

const BRANDS = ['Sommarel', 'Brackwater', 'Tindrel', 'Hollinfell', 'Osterwick', 'Ravnsund', 'Larkmoor'];
const MODELS = `
  Aurora Basin Cirque Delta Ember Fjord Glacier Heath Inlet Juniper Kestrel Lichen Mistral Nordlys
  Orchard Plateau Quarry Rowan Saddle Tarn
`
  .trim()
  .split(/\s+/);
const COLOURS = ['Black', 'Navy', 'Moss', 'Rust', 'Stone', 'Mustard', 'Ice blue', 'Berry'];
const SIZES = ['XS', 'S', 'M', 'L', 'XL', 'XXL'];
const SHOE_SIZES = [37, 38, 39, 40, 41, 42, 43, 44, 45, 46];

const GARMENTS: readonly Garment[] = [
  {
    kind: 'Rain jacket',
    category: 'Jackets',
    activities: ['Hiking', 'Cycling'],
    materials: ['Polyamide'],
    weightG: 340,
    euros: 180,
    waterColumnMm: 10_000,
  },
  {
    kind: 'Insulated jacket',
    category: 'Jackets',
    activities: ['Hiking', 'Travel'],
    materials: ['Polyamide', 'Down'],
    weightG: 420,
    euros: 220,
  },
  {
    kind: 'Fleece jacket',
    category: 'Jackets',
    activities: ['Hiking'],
    materials: ['Recycled polyester'],
    weightG: 380,
    euros: 90,
  },
  {
    kind: 'Cycling jersey',
    category: 'Jerseys and shirts',
    activities: ['Cycling'],
    materials: ['Polyester', 'Elastane'],
    weightG: 150,
    euros: 65,
  },
  {
    kind: 'Base layer',
    category: 'Jerseys and shirts',
    activities: ['Hiking', 'Running', 'Cycling'],
    materials: ['Merino wool'],
    weightG: 190,
    euros: 75,
  },
  {
    kind: 'Hiking trousers',
    category: 'Trousers',
    activities: ['Hiking', 'Travel'],
    materials: ['Polyamide', 'Elastane'],
    weightG: 360,
    euros: 100,
  },
  {
    kind: 'Bib shorts',
    category: 'Trousers',
    activities: ['Cycling'],
    materials: ['Polyamide', 'Elastane'],
    weightG: 180,
    euros: 95,
  },
  {
    kind: 'Rain trousers',
    category: 'Trousers',
    activities: ['Hiking', 'Cycling'],
    materials: ['Polyester'],
    weightG: 290,
    euros: 85,
    waterColumnMm: 8000,
  },
];

const SHOES = [
  { kind: 'Hiking boots', activities: ['Hiking', 'Trekking'], weightG: 560, euros: 170 },
  { kind: 'Trail running shoes', activities: ['Running', 'Hiking'], weightG: 290, euros: 120 },
  { kind: 'Road running shoes', activities: ['Running'], weightG: 250, euros: 130 },
  { kind: 'Cycling shoes', activities: ['Cycling'], weightG: 310, euros: 140 },
  { kind: 'Approach shoes', activities: ['Climbing', 'Hiking'], weightG: 420, euros: 145 },
  { kind: 'Sandals', activities: ['Travel', 'Hiking'], weightG: 330, euros: 70 },
];

export const clothingLines: readonly ProductLine[] = [
  { code: 'SHOE', groupsPerRound: 5, planGroup: planShoes },
  { code: 'WEAR', groupsPerRound: 5, planGroup: planGarment },
];

/** One shoe: ten sizes in two colours. */
function planShoes(ordinal: number, random: SeededRandom): GroupPlan {
  const { kind, activities, weightG, euros } = cycle(SHOES, ordinal);
  const colours = takeInTurn(COLOURS, ordinal, 2);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind,
    path: ['Shoes', kind],
    euros: euros * random.between(0.7, 1.6, 0.1),
    facts: {
      'Suitable for': activities,
      Waterproof: yesNo(kind !== 'Sandals' && random.chance(0.4)),
      'Upper material': random.pick(['Nubuck', 'Mesh', 'Knit', 'Microfibre']),
      'Heel drop': measure(random.between(0, 12, 2), 'mm'),
      Vegan: yesNo(random.chance(0.5)),
    },
    variants: combine(SHOE_SIZES, colours, (size, colour) => ({
      label: `${size} EU, ${colour.toLowerCase()}`,
      facts: {
        'Shoe size': measure(size, 'EU'),
        Colour: colour,
        Weight: measure(weightG + 8 * (size - 42), 'g'),
      },
    })),
  };
}

/** One garment: six sizes in three colours. */
function planGarment(ordinal: number, random: SeededRandom): GroupPlan {
  const garment = cycle(GARMENTS, ordinal);
  const { waterColumnMm } = garment;
  const waterColumn = (waterColumnMm ?? 0) * random.between(1, 2, 0.5);
  const { brand, model } = nameModel(ordinal, BRANDS, MODELS);
  const gender = random.pick(['Men', 'Women']);
  return {
    brand,
    model: `${model} ${gender.toLowerCase()}'s`,
    kind: garment.kind,
    path: ['Clothing', garment.category, garment.kind],
    euros: garment.euros * random.between(0.7, 1.6, 0.1),
    facts: {
      Gender: gender,
      'Suitable for': garment.activities,
      Material: garment.materials,
      Waterproof: yesNo(waterColumnMm !== undefined),
      ...(waterColumnMm === undefined ? {} : { 'Water column': measure(waterColumn, 'mm') }),
      'Machine washable': yesNo(random.chance(0.9)),
      Fit: random.pick(['Regular', 'Slim', 'Relaxed']),
    },
    variants: combine(SIZES, takeInTurn(COLOURS, ordinal, 3), (size, colour) => ({
      label: `${size}, ${colour.toLowerCase()}`,
      facts: {
        'Clothing size': size,
        Colour: colour,
        Weight: measure(garment.weightG + 14 * (SIZES.indexOf(size) - 2), 'g'),
      },
    })),
  };
}
