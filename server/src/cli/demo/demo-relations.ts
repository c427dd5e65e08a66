/** What goes with what in the demo shop, as `POST /management/projects/{id}/relations` takes it. */

const category = (...path: string[]) => ({ category: path });
const bicycles = category('Bicycles');
const tyres = category('Bicycle parts', 'Tyres');
const cameras = category('Photo', 'Cameras');
const sleepingBags = category('Camping', 'Sleeping bags');
const byPrice = [{ attribute: 'Price', direction: 'asc' }] as const;
const shares = (attribute: string) => ({ target: attribute, operator: 'equals', source: attribute }) as const;

export const DEMO_RELATIONS = [
  {
    name: 'Tyres for this bicycle',
    tag: 'accessories',
    description:
      'Of its wheel size and kind, as wide as the frame allows; asked for a tyre, the bicycles it fits.',
    twoWay: true,
    source: bicycles,
    target: tyres,
    match: [
      shares('Wheel size'),
      shares('Bicycle type'),
      { target: 'Tyre width', operator: 'lessOrEqual', source: 'Maximum tyre width' },
    ],
    sort: byPrice,
    names: [{ locale: 'de-DE', name: 'Reifen für dieses Rad' }],
  },
  {
    name: 'Inner tubes for this tyre',
    tag: 'accessories',
    source: tyres,
    target: category('Bicycle parts', 'Inner tubes'),
    match: [
      shares('Wheel size'),
      { target: 'Fits tyres from', operator: 'lessOrEqual', source: 'Tyre width' },
      { target: 'Fits tyres to', operator: 'greaterOrEqual', source: 'Tyre width' },
    ],
    sort: byPrice,
  },
  {
    name: 'Brake pads for this bicycle',
    tag: 'spare parts',
    source: bicycles,
    target: category('Bicycle parts', 'Brake pads'),
    match: [shares('Brake standard')],
    sort: byPrice,
  },
  {
    name: 'Chains for this bicycle',
    tag: 'spare parts',
    source: bicycles,
    target: category('Bicycle parts', 'Chains'),
    match: [shares('Speeds')],
    sort: byPrice,
  },
  {
    name: 'Lenses for this camera',
    tag: 'accessories',
    description: 'With its mount; asked for a lens, the cameras that take it.',
    twoWay: true,
    source: cameras,
    target: category('Photo', 'Lenses'),
    match: [shares('Mount')],
    sort: byPrice,
  },
  {
    name: 'Memory cards for this camera',
    tag: 'accessories',
    source: cameras,
    target: category('Photo', 'Memory cards'),
    match: [shares('Card type')],
    sort: [{ attribute: 'Storage capacity', direction: 'desc' }, ...byPrice],
  },
  {
    name: 'Batteries for this camera',
    tag: 'spare parts',
    source: cameras,
    target: category('Photo', 'Batteries'),
    match: [shares('Battery type')],
    sort: byPrice,
  },
  {
    name: 'Warmer sleeping bags',
    tag: 'alternatives',
    source: sleepingBags,
    target: sleepingBags,
    match: [{ target: 'Comfort temperature', operator: 'less', source: 'Comfort temperature' }],
    sort: [{ attribute: 'Comfort temperature', direction: 'desc' }, ...byPrice],
  },
] as const;
