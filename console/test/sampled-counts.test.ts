// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UploadProduct } from '@relata/client';
import { shareConsole } from './harness.ts';

/**
 * More products than the service counts without an explicit request (docs/interface §11.6 rule 1, §12.6 rule
 * 4).
 */
const PRODUCTS = 60_000;
/**
 * A sample of 50,000 has the first 50 of each 60 products. The sample has more LGA1151 than AM4 products, but
 * the whole catalog has fewer.
 */
const socketOf = (index: number): string => {
  const position = index % 60;
  if (position < 12) return 'LGA1151';
  return position < 20 || position >= 54 ? 'AM4' : 'AM5';
};

function* makeProducts(): Generator<UploadProduct> {
  for (let index = 0; index < PRODUCTS; index += 1)
    yield {
      identifier: `P-${String(index).padStart(5, '0')}`,
      name: `Board ${index}`,
      categories: [{ path: ['Boards'] }],
      attributes: [{ key: 'Socket', value: socketOf(index) }],
    };
}

test('counts of a catalog that is larger than the sample are exact or marked as estimates', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const group = await relata.projects.createGroup('Sampled');
  const { id } = await relata.projects.create({ name: 'Sampled', projectGroupId: group.id, locale: 'en-GB' });
  await relata.products.fullUpdate(makeProducts(), { projectId: id });
  const counts = Map.groupBy(
    Array.from({ length: PRODUCTS }, (_, index) => index),
    socketOf,
  );
  const sizes = [...counts].map(([value, list]) => [value, list.length] as const).sort((a, b) => b[1] - a[1]);

  await t.test('the dialog of an attribute shows exact counts in their true order', async () => {
    const page = await enter(`#/projects/${id}/ontology`);
    await page.getByRole('button', { name: 'Socket', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Values', { exact: true }).waitFor();
    await dialog.getByText('14,000', { exact: true }).waitFor();
    const text = (await dialog.textContent()) ?? '';
    const positions = sizes.map(([value, size]) =>
      text.search(new RegExp(`${value}\\s*${size.toLocaleString('en')}`)),
    );
    assert.ok(
      positions.every((position, index) => position >= 0 && position > (positions[index - 1] ?? -1)),
      `${text}\n${sizes.join('; ')}`,
    );
    assert.ok(!text.includes('≈'), text);
  });

  await t.test('marks the results of a relation with ≈ and the part that was searched', async () => {
    const relation = await relata.relations.create(id, {
      name: 'Same socket',
      tag: 'same',
      source: { category: ['Boards'] },
      target: { category: ['Boards'] },
      match: [{ target: 'Socket', operator: 'equals', source: 'Socket' }],
    });
    const page = await enter(`#/projects/${id}/relations/${relation.id}`);
    await page.getByText(/^≈ from [\d,]+ of 60,000 products$/).waitFor();
    await page.getByText(/^≈ 100\s?%$/).waitFor();
  });
});
