import { BEAD_SEAT_MM, BRAKE_STANDARDS, SPEEDS, TUBE_SIZES, TYRE_SIZES } from './bicycle-standards.ts';
import { combine, type GroupPlan, measure, nameModel, type ProductLine, yesNo } from './product-group.ts';
import { cycle, type SeededRandom } from './seeded-random.ts';

const BRANDS = ['Trettwell', 'Rubrano', 'Haltwell', 'Cogsmere', 'Spindrell'];
const MODELS = `
  Grappler Swift Nimbus Torrent Rambler Pacer Bulwark Sprint Anchor Cinder Tempo Furrow Glide Magpie
  Rally Summit Courier Zephyr Boulder Relay
`
  .trim()
  .split(/\s+/);
const COMPOUNDS = ['Organic', 'Semi-metallic', 'Sintered'];

export const bicyclePartLines: readonly ProductLine[] = [
  { code: 'TYRE', groupsPerRound: 10, planGroup: planTyre },
  { code: 'TUBE', groupsPerRound: 7, planGroup: planTube },
  { code: 'PAD', groupsPerRound: 7, planGroup: planBrakePads },
  { code: 'CHAIN', groupsPerRound: 3, planGroup: planChain },
  { code: 'CASS', groupsPerRound: 3, planGroup: planCassette },
];

/** One tyre in the widths of its wheel size, wired or folding. */
function planTyre(ordinal: number, random: SeededRandom): GroupPlan {
  const { use, wheelInches, widthsMm } = cycle(TYRE_SIZES, ordinal);
  const rim = BEAD_SEAT_MM[wheelInches];
  const tubeless = use !== 'City' && use !== 'Kids' && random.chance(0.6);
  const euros = random.between(19, 54);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: 'Tyre',
    path: ['Bicycle parts', 'Tyres', `${wheelInches} inch`],
    euros,
    facts: {
      'Bicycle type': use,
      'Wheel size': measure(wheelInches, 'in'),
      'Bead seat diameter': measure(rim, 'mm'),
      'Tubeless ready': yesNo(tubeless),
      'Puncture protection': yesNo(random.chance(0.7)),
      'Reflective stripe': yesNo(use === 'City'),
    },
    variants: combine(widthsMm, ['wired', 'folding'], (widthMm, bead) => ({
      label: `${widthMm}-${rim}, ${bead}`,
      euros: bead === 'folding' ? euros + 12 : euros,
      facts: {
        'Tyre width': measure(widthMm, 'mm'),
        'ETRTO size': `${widthMm}-${rim}`,
        Bead: bead,
        Weight: measure(Math.round((widthMm * rim) / 38) - (bead === 'folding' ? 90 : 0), 'g'),
      },
    })),
  };
}

/** One inner tube with each valve. It fits all tyres of its wheel sizes within its width range. */
function planTube(ordinal: number, random: SeededRandom): GroupPlan {
  const { wheelInches, fromMm, toMm } = cycle(TUBE_SIZES, ordinal);
  const { brand, model } = nameModel(ordinal, BRANDS, MODELS);
  const light = random.chance(0.3);
  return {
    brand,
    model: `${model} ${wheelInches.join('/')} x ${fromMm}-${toMm} mm`,
    kind: 'Inner tube',
    path: ['Bicycle parts', 'Inner tubes'],
    euros: random.between(4, 8) + (light ? 8 : 0),
    facts: {
      'Wheel size': wheelInches.map((inches) => measure(inches, 'in')),
      'Fits tyres from': measure(fromMm, 'mm'),
      'Fits tyres to': measure(toMm, 'mm'),
      Material: light ? 'Thermoplastic' : 'Butyl',
      Weight: measure((light ? 45 : 110) + 2 * toMm, 'g'),
    },
    variants: combine(['Presta', 'Schrader'], [40, 60], (valve, lengthMm) => ({
      label: `${valve} valve ${lengthMm} mm`,
      facts: { Valve: valve, 'Valve length': measure(lengthMm, 'mm') },
    })),
  };
}

/** One brake pad in three compounds; some fit the next brake standard as well. */
function planBrakePads(ordinal: number, random: SeededRandom): GroupPlan {
  const standard = cycle(BRAKE_STANDARDS, ordinal);
  const nextStandard = cycle(BRAKE_STANDARDS, ordinal + 1);
  const fitsBoth = standard.startsWith('Disc') && nextStandard.startsWith('Disc') && random.chance(0.4);
  const euros = random.between(9, 24);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: 'Brake pads',
    path: ['Bicycle parts', 'Brake pads', standard.startsWith('Disc') ? 'Disc brakes' : 'Other brakes'],
    euros,
    facts: {
      'Brake standard': fitsBoth ? [standard, nextStandard] : standard,
      'Pads per pack': random.pick(['2', '4']),
      'Cooling fins': yesNo(random.chance(0.3)),
    },
    variants: COMPOUNDS.map((compound, index) => ({
      label: compound.toLowerCase(),
      euros: euros + 4 * index,
      facts: { Compound: compound, Weight: measure(22 + 5 * index, 'g') },
    })),
  };
}

/** One chain in two lengths; chains for 7 sprockets run on 8 too. */
function planChain(ordinal: number, random: SeededRandom): GroupPlan {
  const speeds = cycle(SPEEDS, ordinal);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: speeds === 1 ? 'Single-speed chain' : `${speeds}-speed chain`,
    path: ['Bicycle parts', 'Chains'],
    euros: 9 + 3 * speeds + random.between(0, 9),
    facts: {
      Speeds: speeds === 7 ? ['7', '8'] : String(speeds),
      'Quick link included': yesNo(random.chance(0.8)),
      'Rust protection': yesNo(random.chance(0.4)),
    },
    variants: [114, 126].map((links) => ({
      label: `${links} links`,
      facts: { Links: String(links), Weight: measure(Math.round(links * 2.2), 'g') },
    })),
  };
}

/** One cassette in three gear ranges. */
function planCassette(ordinal: number, random: SeededRandom): GroupPlan {
  const speeds = cycle(SPEEDS.slice(1), ordinal);
  const euros = speeds * random.between(4, 9);
  return {
    ...nameModel(ordinal, BRANDS, MODELS),
    kind: `${speeds}-speed cassette`,
    path: ['Bicycle parts', 'Cassettes'],
    euros,
    facts: { Speeds: String(speeds), 'Smallest sprocket': measure(random.pick([10, 11, 12]), 'teeth') },
    variants: [28, 34, 42].map((teeth) => ({
      label: `up to ${teeth} teeth`,
      euros: euros + teeth - 28,
      facts: {
        'Largest sprocket': measure(teeth, 'teeth'),
        Weight: measure(120 + 6 * teeth + 10 * speeds, 'g'),
      },
    })),
  };
}
