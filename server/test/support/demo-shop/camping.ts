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

const BRANDS = ['Moorhaven', 'Nachtfell', 'Talvikka', 'Zeltmark', 'Birkwood'];
const MODELS = `
  Refuge Hearth Solstice Polaris Shelter Halcyon Campion Bivouac Dusk Stillwater Cairn Everglow Haven
  Northlight Slumber
`
  .trim()
  .split(/\s+/);
const PACK_BRANDS = ['Tragwell', 'Moorhaven', 'Ravnsund', 'Hikora'];
const PACK_MODELS = ['Porter', 'Ascent', 'Nomad', 'Traverse', 'Sherpa', 'Switchback', 'Daytrip', 'Longhaul'];
const COLOURS = ['Green', 'Sand', 'Orange', 'Grey', 'Blue', 'Red'];

/** Comfort temperatures in °C, from winter to summer bags. */
const COMFORT_TEMPERATURES = [-18, -12, -9, -6, -3, 0, 3, 5, 8, 12];

const MAT_SIZES = [
  { label: 'small', lengthCm: 165, weightG: 0 },
  { label: 'regular', lengthCm: 183, weightG: 90 },
  { label: 'long', lengthCm: 198, weightG: 180 },
];

const PACKS = [
  { kind: 'Daypack', litres: [18, 22, 26], activities: ['Hiking', 'Travel'], euros: 80 },
  { kind: 'Trekking backpack', litres: [45, 55, 65], activities: ['Trekking', 'Travel'], euros: 190 },
  { kind: 'Cycling backpack', litres: [10, 14, 18], activities: ['Cycling'], euros: 90 },
  { kind: 'Photo backpack', litres: [20, 25, 32], activities: ['Photography', 'Hiking'], euros: 150 },
  { kind: 'Climbing backpack', litres: [30, 35, 40], activities: ['Climbing', 'Hiking'], euros: 130 },
];

export const campingLines: readonly ProductLine[] = [
  { code: 'TENT', groupsPerRound: 3, planGroup: planTent },
  { code: 'SLEEP', groupsPerRound: 5, planGroup: planSleepingBag },
  { code: 'MAT', groupsPerRound: 2, planGroup: planMat },
  { code: 'PACK', groupsPerRound: 4, planGroup: planBackpack },
];

/** One tent for two to four persons in two colours. */
function planTent(ordinal: number, random: SeededRandom): GroupPlan {
  const form = cycle(['Dome tent', 'Tunnel tent', 'Geodesic tent', 'Ultralight tent'], ordinal);
  const euros = random.between(160, 620, 20);
  const gramsPerPerson = form === 'Ultralight tent' ? 620 : random.between(850, 1400, 50);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: form,
    path: ['Camping', 'Tents', form],
    euros,
    facts: {
      'Water column': measure(random.pick([2000, 3000, 4000, 5000]), 'mm'),
      Seasons: random.pick(['3', '4']),
      'Free-standing': yesNo(form !== 'Tunnel tent'),
      'Poles included': yesNo(form !== 'Ultralight tent'),
      'Pole material': random.pick(['Aluminium', 'Fibreglass', 'Carbon']),
    },
    variants: combine([2, 3, 4], takeInTurn(COLOURS, ordinal, 2), (persons, colour) => ({
      label: `${persons} persons, ${colour.toLowerCase()}`,
      euros: euros * (1 + 0.2 * (persons - 2)),
      facts: {
        Sleeps: measure(persons, 'persons'),
        Colour: colour,
        Weight: measure(gramsPerPerson * (persons + 0.5), 'g'),
      },
    })),
  };
}

/** One sleeping bag: two lengths, zip on either side. Warmer ones weigh and cost more. */
function planSleepingBag(ordinal: number, random: SeededRandom): GroupPlan {
  const comfort = cycle(COMFORT_TEMPERATURES, ordinal);
  const isDown = random.chance(0.5);
  const warmth = 15 - comfort;
  const euros = 60 + warmth * (isDown ? 13 : 6) + random.between(0, 40, 5);
  const weightG = 520 + warmth * (isDown ? 28 : 48);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: 'Sleeping bag',
    path: ['Camping', 'Sleeping bags', isDown ? 'Down' : 'Synthetic'],
    euros,
    facts: {
      'Comfort temperature': measure(comfort, '°C'),
      'Limit temperature': measure(comfort - random.between(5, 7), '°C'),
      Filling: isDown ? 'Down' : 'Synthetic fibre',
      'Water repellent': yesNo(random.chance(0.4)),
      'Compression bag included': yesNo(random.chance(0.6)),
    },
    variants: combine([185, 200], ['left', 'right'], (lengthCm, side) => ({
      label: `${lengthCm} cm, zip ${side}`,
      euros: lengthCm === 185 ? euros : euros + 20,
      facts: {
        'Body height to': measure(lengthCm, 'cm'),
        'Zip side': side,
        Weight: measure(lengthCm === 185 ? weightG : weightG + 80, 'g'),
      },
    })),
  };
}

/** One sleeping mat in three lengths. */
function planMat(ordinal: number, random: SeededRandom): GroupPlan {
  const rValue = random.between(1.2, 6.8, 0.4);
  const euros = 30 + rValue * random.between(12, 24);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: 'Sleeping mat',
    path: ['Camping', 'Sleeping mats'],
    euros,
    facts: {
      'R-value': String(Number(rValue.toFixed(1))),
      Thickness: measure(random.pick([2.5, 5, 7, 10]), 'cm'),
      'Self-inflating': yesNo(random.chance(0.5)),
    },
    variants: MAT_SIZES.map(({ label, lengthCm, weightG }) => ({
      label,
      euros: euros + weightG / 9,
      facts: { 'Mat length': measure(lengthCm, 'cm'), Weight: measure(380 + weightG, 'g') },
    })),
  };
}

/** One backpack in three volumes and three colours. */
function planBackpack(ordinal: number, random: SeededRandom): GroupPlan {
  const { kind, litres, activities, euros } = cycle(PACKS, ordinal);
  const groupEuros = euros * random.between(0.7, 1.5, 0.1);
  return {
    ...nameModel(ordinal, PACK_BRANDS, PACK_MODELS),
    kind,
    path: ['Backpacks', `${kind}s`],
    euros: groupEuros,
    facts: {
      'Suitable for': activities,
      'Rain cover included': yesNo(random.chance(0.6)),
      'Laptop sleeve': yesNo(random.chance(0.3)),
      'Hip belt': yesNo(kind !== 'Cycling backpack'),
      Material: random.pick(['Polyamide', 'Recycled polyester']),
    },
    variants: combine(litres, takeInTurn(COLOURS, ordinal, 3), (volume, colour) => ({
      label: `${volume} L, ${colour.toLowerCase()}`,
      euros: groupEuros + volume / 2,
      facts: {
        Volume: measure(volume, 'L'),
        // Cycling backpacks come without a stated maximum load.
        ...(kind !== 'Cycling backpack' && { 'Maximum load': measure(volume / 5, 'kg') }),
        Colour: colour,
        Weight: measure(350 + 22 * volume, 'g'),
      },
    })),
  };
}
