/** The standards that cameras, lenses and their accessories share. Every name here is invented. */

export interface CameraSystem {
  readonly brand: string;
  readonly mount: string;
  readonly sensor: string;
  /** The older type and the newer type, whose batteries also run in cameras of the older type. */
  readonly batteries: readonly [older: string, newer: string];
  readonly cards: readonly string[];
  /** Relative to full frame: large sensors cost more. */
  readonly priceFactor: number;
}

export const CAMERA_SYSTEMS: readonly CameraSystem[] = [
  {
    brand: 'Kestrane',
    mount: 'KSX',
    sensor: 'Full frame',
    batteries: ['KB-18', 'KB-25'],
    cards: ['QX-2', 'QX-Pro'],
    priceFactor: 1,
  },
  {
    brand: 'Optavell',
    mount: 'OVL',
    sensor: 'Full frame',
    batteries: ['OE-7', 'OE-9'],
    cards: ['QX-2'],
    priceFactor: 1.1,
  },
  {
    brand: 'Halvion',
    mount: 'HV-C',
    sensor: 'APS-C',
    batteries: ['HVB-120', 'HVB-126'],
    cards: ['QX-2'],
    priceFactor: 0.5,
  },
  {
    brand: 'Prismoor',
    mount: 'PM-4',
    sensor: 'One inch',
    batteries: ['PB-1', 'PB-5'],
    cards: ['QX-2', 'QX-Micro'],
    priceFactor: 0.4,
  },
  {
    brand: 'Lindqvar',
    mount: 'LQ-645',
    sensor: 'Medium format',
    batteries: ['LQ-20', 'LQ-22'],
    cards: ['QX-Pro'],
    priceFactor: 2.6,
  },
];

export const CARD_TYPES = ['QX-2', 'QX-Micro', 'QX-Pro'];

/** Diameters of filter threads: filters are made in all of them, and every lens has one. */
export const FILTER_DIAMETERS_MM = [46, 49, 52, 55, 58, 62, 67, 72, 77, 82] as const;

export type FilterDiameter = (typeof FILTER_DIAMETERS_MM)[number];
