/** Standards that bicycles and their parts share. The sizes are real, the brake names are invented. */

export const BRAKE_STANDARDS = [
  'Disc A2',
  'Disc A4',
  'Disc M2',
  'Disc M4',
  'Flat F1',
  'V-brake',
  'Rim caliper',
] as const;

export type BrakeStandard = (typeof BRAKE_STANDARDS)[number];

/** Numbers of sprockets; 1 is a bicycle without gears. */
export const SPEEDS = [1, 7, 8, 9, 10, 11, 12];

export type WheelInches = 16 | 20 | 24 | 26 | 27.5 | 28 | 29;

export type BicycleUse = 'Mountain' | 'Gravel' | 'Road' | 'City' | 'Kids';

/** Tyres on the market: for every bicycle there is one of its wheel size that its frame has room for. */
export const TYRE_SIZES: readonly {
  use: BicycleUse;
  wheelInches: WheelInches;
  widthsMm: readonly number[];
}[] = [
  { use: 'Mountain', wheelInches: 29, widthsMm: [54, 57, 62] },
  { use: 'Mountain', wheelInches: 27.5, widthsMm: [54, 60, 66] },
  { use: 'Mountain', wheelInches: 26, widthsMm: [50, 54] },
  { use: 'Gravel', wheelInches: 28, widthsMm: [38, 42, 45] },
  { use: 'Gravel', wheelInches: 27.5, widthsMm: [42, 47] },
  { use: 'Road', wheelInches: 28, widthsMm: [25, 28, 32] },
  { use: 'City', wheelInches: 28, widthsMm: [37, 42, 47] },
  { use: 'City', wheelInches: 26, widthsMm: [42, 47] },
  { use: 'Kids', wheelInches: 16, widthsMm: [42, 47] },
  { use: 'Kids', wheelInches: 20, widthsMm: [42, 47, 54] },
  { use: 'Kids', wheelInches: 24, widthsMm: [42, 47, 54] },
];

/** Inner tubes cover every width of TYRE_SIZES. 28 and 29 in share one rim, so one tube fits both. */
export const TUBE_SIZES: readonly { wheelInches: readonly WheelInches[]; fromMm: number; toMm: number }[] = [
  { wheelInches: [16], fromMm: 40, toMm: 50 },
  { wheelInches: [20], fromMm: 40, toMm: 57 },
  { wheelInches: [24], fromMm: 40, toMm: 57 },
  { wheelInches: [26], fromMm: 40, toMm: 57 },
  { wheelInches: [27.5], fromMm: 40, toMm: 53 },
  { wheelInches: [27.5], fromMm: 54, toMm: 70 },
  { wheelInches: [28], fromMm: 18, toMm: 32 },
  { wheelInches: [28, 29], fromMm: 33, toMm: 50 },
  { wheelInches: [29], fromMm: 51, toMm: 65 },
];

/** Bead seat diameter of the rim for each wheel size. Source: ISO 5775. */
export const BEAD_SEAT_MM: Readonly<Record<WheelInches, number>> = {
  16: 305,
  20: 406,
  24: 507,
  26: 559,
  27.5: 584,
  28: 622,
  29: 622,
};
