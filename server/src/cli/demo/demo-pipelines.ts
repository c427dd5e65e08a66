/** How the demo shop is fed, one pipeline of each trigger, as `POST /management/projects/{id}/pipelines` takes it. */
import type { DemoProduct } from './demo-catalog.ts';

/** Prices as a German system writes them: `1.299,00`. */
const prices = {
  format: { type: 'csv' },
  mapping: {
    identifier: 'sku',
    attributes: { Price: { column: 'price', number: { decimal: 'comma' }, unit: 'EUR' } },
  },
  mode: 'partial',
} as const;

export const DEMO_PIPELINES = {
  manual: {
    name: 'Prices by hand',
    source: { type: 'upload' },
    trigger: { type: 'manual' },
    ...prices,
  },
  schedule: {
    name: 'Prices of the night',
    source: { type: 'directory', pattern: 'prices.csv' },
    trigger: { type: 'schedule', cron: '0 3 * * *', timeZone: 'Europe/Berlin' },
    ...prices,
  },
  webhook: {
    name: 'New arrivals',
    source: { type: 'directory', pattern: 'arrivals.csv' },
    trigger: { type: 'webhook', minSecondsBetween: 10 },
    format: { type: 'csv' },
    mapping: {
      identifier: 'sku',
      name: 'title',
      categories: { from: 'category', separator: ' > ' },
      attributes: { Price: { column: 'price', number: { decimal: 'comma' }, unit: 'EUR' }, Brand: 'brand' },
    },
    mode: 'incremental',
  },
} as const;

/** @returns the files that the pipelines read, by their names */
export function describeDemoFiles(products: readonly DemoProduct[]): Readonly<Record<string, string>> {
  const rows = products.slice(0, 100).map(({ identifier }, at) => `${identifier};${1_000 + at},00`);
  const arrivals = [
    'NEW-0001;Bicycle bell, brass;Bicycle parts > Bells;Trettwell;19,90',
    'NEW-0002;Bicycle bell, black;Bicycle parts > Bells;Trettwell;17,90',
    'NEW-0003;Enamel mug, 0.4 l;Camping > Cookware;Fernlicht;12,50',
  ];
  return {
    'prices.csv': ['sku;price', ...rows, ''].join('\n'),
    'arrivals.csv': ['sku;title;category;brand;price', ...arrivals, ''].join('\n'),
  };
}
