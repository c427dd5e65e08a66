import type { Relata, UploadProduct } from '@relata/client';

const CHUCKS = ['SDS-plus', 'Hexagon 1/4"', 'Keyless 13 mm'] as const;
const COLOURS = ['green', 'blue', 'black'] as const;

/** A small shop: drills and the bits that fit them, enough to show facts, a relation and its reasons. */
export const makeExample = (): UploadProduct[] => [
  ...CHUCKS.flatMap((chuck, index) => [...makeDrills(chuck, index), ...makeBits(chuck, index)]),
];

const makeDrills = (chuck: string, series: number): UploadProduct[] =>
  [12, 18].flatMap((volts) =>
    COLOURS.map((colour) => ({
      identifier: `DRILL-${series + 1}${volts}-${colour.toUpperCase()}`,
      groupIdentifier: `DRILL-${series + 1}${volts}`,
      name: `Cordless drill ${volts} V, ${chuck}, ${colour}`,
      productUrl: `https://shop.example/drill-${series + 1}${volts}`,
      categories: [{ path: ['Tools', 'Drills'] }],
      attributes: [
        { key: 'Chuck', value: chuck },
        { key: 'Voltage', value: `${volts} V` },
        { key: 'Colour', value: colour },
        { key: 'Brand', value: volts === 18 ? 'Bohrmeister' : 'Handwerk' },
        { key: 'Price', value: `${79 + volts * 4 + series * 10}.00 EUR` },
      ],
    })),
  );

const makeBits = (shank: string, series: number): UploadProduct[] =>
  [4, 5, 6, 8, 10].map((diameter) => ({
    identifier: `BIT-${series + 1}-${String(diameter).padStart(2, '0')}`,
    name: `Drill bit ${diameter} mm, ${shank}`,
    productUrl: `https://shop.example/bit-${series + 1}-${diameter}`,
    categories: [{ path: ['Tools', 'Bits'] }],
    attributes: [
      { key: 'Shank', value: shank },
      { key: 'Diameter', value: `${diameter} mm` },
      { key: 'Brand', value: 'Bohrmeister' },
      { key: 'Price', value: `${(2 + diameter * 0.45).toFixed(2)} EUR` },
    ],
  }));

/** Loads the example as any shop would: a full update, a change with a mistake in it, and a relation. */
export async function loadExample(relata: Relata, projectId: number): Promise<void> {
  await relata.products.fullUpdate(makeExample(), { projectId });
  // A value without its unit, to show how that is reported.
  const withoutUnit = [{ identifier: 'BIT-3-10', attributes: { Diameter: '10' } }];
  const { task } = await relata.products.change(withoutUnit, { projectId });
  await relata.tasks.wait(task.id);
  await relata.relations.create(projectId, {
    name: 'Bits for this drill',
    tag: 'accessories',
    twoWay: true,
    source: { category: ['Tools', 'Drills'] },
    target: { category: ['Tools', 'Bits'] },
    match: [{ target: 'Shank', operator: 'equals', source: 'Chuck' }],
    sort: [{ attribute: 'Price', direction: 'asc' }],
  });
}
