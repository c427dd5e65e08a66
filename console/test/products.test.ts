import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBarriers, makeExampleProject, shareConsole, untilBuilt } from './harness.ts';
import { signInByKey } from './people.ts';

test('products are narrowed by identifier and category, and found by name and attribute (§14.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/products`);
  await page.getByText('33 products').waitFor();

  await page.getByLabel('Identifier begins with').fill('BIT-2');
  await page.getByText('5 products', { exact: true }).waitFor();
  assert.match(page.url(), /prefix=BIT-2$/, 'the view has an address to send');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Category').fill('Tools > Drills');
  await page.getByText('18 products', { exact: true }).waitFor();

  await page.getByLabel('Name contains').fill('12 v');
  await page.getByText(/^9 found, \d+ of \d+ looked at$/).waitFor();
  await page.getByLabel('Attribute').fill('Colour: red');
  await page
    .getByText('No product')
    .or(page.getByText(/^0 found/))
    .waitFor();
  await page.getByLabel('Attribute').fill('Colour: black');
  await page.getByText(/^3 found/).waitFor();
  await page.getByRole('link', { name: 'DRILL-112-BLACK' }).waitFor();
});

test('what a change of an attribute would do is told before it is saved (§11.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/ontology`);
  await page.getByText('1 not extracted').waitFor();
  await page.getByRole('button', { name: 'Diameter' }).click();
  await page.getByText('unit_missing').waitFor();
  await page.getByLabel('Unit').fill('');
  await page.getByText('Become facts').first().waitFor();
  await page.getByRole('link', { name: 'BIT-3-10' }).first().waitFor();
});

test('what the data alone shows becomes a draft, or is dismissed for good (§17)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const group = await relata.projects.createGroup('Bicycles');
  const { id } = await relata.projects.create({
    name: 'Bicycles',
    projectGroupId: group.id,
    locale: 'en-GB',
  });
  const sizes = ['26 in', '28 in', '29 in', '27.5 in'];
  const make = (kind: string, path: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      identifier: `${kind}-${at}`,
      name: `${kind} ${at}`,
      categories: [{ path: ['Shop', path] }],
      attributes: [
        { key: 'Wheel size', value: sizes[at % 4] ?? '' },
        { key: `${path} weight`, value: at === 7 ? 'light' : `${at} g` },
      ],
    }));
  await relata.products.fullUpdate([...make('FRAME', 'Frames', 40), ...make('TYRE', 'Tyres', 40)], {
    projectId: id,
  });
  await untilBuilt(relata, id);
  const page = await enter(`#/projects/${id}/suggestions`);
  const weight = page.locator('section', {
    has: page.getByRole('heading', { name: /^Change Tyres weight/ }),
  });
  await weight.getByText('1 value to look at').waitFor();
  await weight.getByRole('button', { name: 'Look at the effect …' }).click();
  await page.getByRole('dialog').getByText('Become facts').first().waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The ontology is saved').waitFor();
  await weight.waitFor({ state: 'detached' });
  const { value } = await relata.ontology.get(id);
  assert.equal(value.attributes.find(({ name }) => name === 'Tyres weight')?.unitName, 'g');

  const relation = page
    .locator('section', { has: page.getByRole('heading', { name: /for (Tyres|Frames)$/ }) })
    .first();
  await relation.getByText('Wheel size is Wheel size').waitFor();
  const other = page.locator('section', {
    has: page.getByRole('heading', { name: /^Change Frames weight/ }),
  });
  await other.getByRole('button', { name: 'Dismiss' }).click();
  await other.waitFor({ state: 'detached' });
  await page.reload();
  await signInByKey(page, service.key);
  await relation.getByRole('link', { name: 'Make it a relation …' }).click();
  await page.getByText('lead to something').waitFor();
  await page.getByRole('button', { name: 'Create the relation' }).click();
  await page.getByText('The relation is saved').waitFor();
});

test('related products are cards by relation, with their variants folded, and what finds nothing says why (§12.7)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const source = { category: ['Tools', 'Drills'] };
  await service.relata.relations.create(id, { name: 'Cases', tag: 'cases', source, target: source });
  await untilBuilt(service.relata, id);
  const page = await enter(`#/projects/${id}/products/BIT-1-04`);
  const card = page.locator('section.card', {
    has: page.getByRole('heading', { name: 'Related products', exact: true }),
  });
  await card.getByText('Both ways: shown with this product').waitFor();
  const folded = card.getByRole('listitem').filter({ hasText: '2 more variants' });
  assert.equal(await folded.count(), 2, 'one card for each drill, whatever its colours');
  const drill = folded.filter({ hasText: 'DRILL-118' }).first();
  const variants = drill.getByRole('link', { name: /DRILL-118/ });
  assert.equal(await variants.count(), 1);
  await drill.getByText('2 more variants').click();
  await variants.nth(2).getByText('Shank: SDS-plus').waitFor();

  await card.getByText('1 relation finds nothing for this product').click();
  await card.getByText('This product meets the conditions of neither side: Cases').waitFor();
  await card.getByRole('link', { name: 'Why not?' }).click();
  await page.getByRole('heading', { name: 'Why, or why not?' }).waitFor();
  await page.getByLabel('To this product').fill('DRILL-218-RED');
  assert.equal(await page.getByLabel('From this product').inputValue(), 'BIT-1-04');
});

test('one walks from product to product in the picture by keyboard, and back again (§14.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/products/DRILL-118-BLUE`);
  const picture = page.getByRole('region', { name: 'Related products as a picture' });
  const middle = (identifier: string) => picture.locator('.walk-middle', { hasText: identifier });
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
  await middle('DRILL-118-BLUE').focus();
  await page.keyboard.press('ArrowRight');
  const bit = /BIT-1-\d+$/.exec(await focused())?.[0] ?? '';
  await page.keyboard.press('ArrowDown');
  assert.match(await focused(), /BIT-1-\d+$/);
  assert.ok(!(await focused()).endsWith(bit), 'down goes to another product');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await middle(bit).waitFor();
  assert.match(await focused(), new RegExp(`${bit}Open its page$`), 'the keyboard is in the middle');
  assert.match(page.url(), new RegExp(`DRILL-118-BLUE[?]via=${bit}$`), 'the way can be sent');
  await picture.getByText('3 variants').first().waitFor();
  assert.deepEqual(await findBarriers(page), []);

  const way = page.getByRole('navigation', { name: 'The way so far' });
  assert.equal(await way.getByRole('link').count(), 1);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/via=.*via=DRILL/);
  await page.goBack();
  await middle(bit).waitFor();
  await way.getByRole('link').click();
  await middle('DRILL-118-BLUE').waitFor();
  assert.equal(await way.count(), 0);
  await page.goBack();
  await middle(bit).getByText('Open its page').click();
  await page.getByRole('heading', { level: 1, name: /^Drill bit/ }).waitFor();
});
