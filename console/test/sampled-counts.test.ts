// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UploadProduct } from '@relata/client';
import { shareConsole } from './harness.ts';

/** More than the service counts without being asked for all (docs/interface §11.6 rule 1, §12.6 rule 4). */
const PRODUCTS = 60_000;
/** A sample of 50,000 has the first 50 of each 60 products, so it has more LGA1151 than AM4; the catalog has fewer. */
const socketOf = (at: number): string => {
  const place = at % 60;
  if (place < 12) return 'LGA1151';
  return place < 20 || place >= 54 ? 'AM4' : 'AM5';
};

function* makeProducts(): Generator<UploadProduct> {
  for (let at = 0; at < PRODUCTS; at += 1)
    yield {
      identifier: `P-${String(at).padStart(5, '0')}`,
      name: `Board ${at}`,
      categories: [{ path: ['Boards'] }],
      attributes: [{ key: 'Socket', value: socketOf(at) }],
    };
}

test('counts of a catalog larger than the sample are exact, or are marked as estimates', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const group = await relata.projects.createGroup('Sampled');
  const { id } = await relata.projects.create({ name: 'Sampled', projectGroupId: group.id, locale: 'en-GB' });
  await relata.products.fullUpdate(makeProducts(), { projectId: id });
  const counts = Map.groupBy(
    Array.from({ length: PRODUCTS }, (_, at) => at),
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
    const places = sizes.map(([value, size]) =>
      text.search(new RegExp(`${value}\\s*${size.toLocaleString('en')}`)),
    );
    assert.ok(
      places.every((place, at) => place >= 0 && place > (places[at - 1] ?? -1)),
      `${text}\n${sizes.join('; ')}`,
    );
    assert.ok(!text.includes('≈'), text);
  });

  await t.test('what a relation finds is marked with ≈ and the part that was searched', async () => {
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
