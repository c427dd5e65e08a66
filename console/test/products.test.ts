// runs: long, slow
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBarriers, makeExampleProject, shareConsole, untilBuilt } from './harness.ts';
import { narrowByIdentifier, signInByKey } from './people.ts';

test('narrows products by identifier, category and words, also by views of earlier versions (§14.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/products`);
  await page.getByText('33 products').waitFor();

  await narrowByIdentifier(page, 'BIT-2');
  await page.getByText('5 products', { exact: true }).waitFor();
  assert.match(page.url(), /prefix=BIT-2$/, 'the view has an address that can be shared');
  await page.getByRole('button', { name: 'Remove Identifier begins with: BIT-2' }).click();
  await page.getByText('33 products').waitFor();
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Category').fill('Tools > Drills');
  await page.getByText('18 products found', { exact: true }).waitFor();

  await page.getByLabel('Search', { exact: true }).fill('12 v');
  await page.getByText('9 products found', { exact: true }).waitFor();
  await page.goto(`${page.url().split('#')[0]}#/projects/${id}/products?name=12+v&attribute=Colour:+red`);
  await page.getByText('No product matches all of these').waitFor();
  assert.match(page.url(), /products\?q=12\+v\+red$/);
  await page.goto(`${page.url().split('#')[0]}#/projects/${id}/products?name=12+v&attribute=Colour:+black`);
  await page.getByText('3 products found', { exact: true }).waitFor();
  // While the search has focus, its suggestions hide the roles of other elements.
  await page.getByText('DRILL-112-BLACK').first().waitFor();
});

test('a product field repeats a search that found nothing in a part of the catalog (§4.13 rule 8)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Parts');
  const page = await enter(`#/projects/${id}`);
  let parts = 0;
  await page.route(/products\/search\?.*q=hexagon/i, async (route) => {
    const response = await route.fetch();
    const whole = await response.json();
    const part = { ...whole, items: [], partial: true, nextCursor: null };
    parts += 1;
    await route.fulfill({ response, json: parts > 1 ? whole : part });
  });
  const field = page.getByLabel('Product', { exact: true });
  const option = page.getByRole('option').first();
  await field.click();
  await option.waitFor();
  await field.fill('hexagon');
  await page.getByText('Searching …').waitFor();
  await option.waitFor();
  assert.equal(parts, 2);
});

test('Enter in a product field waits for the search and chooses the first hit (§14.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Entered');
  const page = await enter(`#/projects/${id}/fit`);
  let answer = () => {};
  const holdSearch = (words: string) =>
    page.route(`**/products/search?*q=${words}*`, async (route) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.continue();
    });
  const field = page.getByLabel('Add a product');
  await field.fill('BIT-1-04');
  await page.getByRole('option', { name: /BIT-1-04/ }).waitFor();

  // The product for the previous words is still shown and highlighted.
  await holdSearch('DRILL-118-BLUE');
  const search = page.waitForRequest(/q=DRILL-118-BLUE/);
  await field.fill('DRILL-118-BLUE');
  await field.press('Enter');
  await search;
  await page.getByText('Searching …').waitFor();
  answer();
  await page.getByRole('button', { name: 'Remove DRILL-118-BLUE' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Remove / }).count(), 1);
  await page.getByRole('listbox').waitFor({ state: 'detached' });

  // New words replace the earlier choice. Words that match no product are taken as an identifier.
  await holdSearch('BIT-2-04');
  const withdrawn = page.waitForRequest(/q=BIT-2-04/);
  await field.fill('BIT-2-04');
  await field.press('Enter');
  await withdrawn;
  await field.fill('NOWHERE');
  await field.press('Enter');
  answer();
  await page.getByRole('button', { name: 'Remove NOWHERE' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Remove / }).count(), 2);
});

test('the page of a product reloads while a relation is being built (§12.7)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Being built');
  const page = await enter(`#/projects/${id}/products`);
  let answers = 0;
  await page.route(/products\/BIT-1-04\/relations/, async (route) => {
    const response = await route.fetch();
    const { relations } = await response.json();
    const building = relations.map((relation: object) => ({
      ...relation,
      state: 'building',
      asSource: null,
      asTarget: null,
    }));
    answers += 1;
    await route.fulfill({ response, json: { relations: answers > 1 ? relations : building } });
  });
  await page.getByRole('link', { name: 'BIT-1-04' }).click();
  await page.getByText('It is being built.').waitFor();
  await page.getByText('leads here').waitFor();
});

test('facets narrow a search, are part of the address, and can be removed (§4.13)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Facets');
  const page = await enter(`#/projects/${id}/products`);
  const search = page.getByLabel('Search', { exact: true });
  await search.pressSequentially('drill');
  const category = page.getByRole('option', { name: /Tools > Drills/ });
  await category.waitFor();
  await page.getByText('33 products found').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByText('18 products found', { exact: true }).waitFor();
  assert.equal(await search.inputValue(), '', 'the suggestion replaces the words');

  await page.getByRole('checkbox', { name: /^black/ }).check();
  await page.getByText('6 products found').waitFor();
  await page.getByRole('checkbox', { name: /^blue/ }).check();
  await page.getByText('12 products found').waitFor();
  await page.getByLabel('Voltage, at least').fill('13');
  await page.keyboard.press('Enter');
  await page.getByText('6 products found').waitFor();
  await page.goBack();
  await page.getByText('12 products found').waitFor();
  await page.getByLabel('Voltage, at least').fill('17');
  await page.keyboard.press('Tab');
  await page.keyboard.type('19');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Remove Voltage: 17 to 19 V' }).waitFor();
  await page.goBack();
  await page.getByText('12 products found').waitFor();
  await page.reload();
  await signInByKey(page, service.key);
  await page.getByText('12 products found').waitFor();
  await page.getByRole('button', { name: 'Remove Colour: black, blue' }).click();
  await page.getByText('18 products found', { exact: true }).waitFor();
});

test('facets of the first hits name the number of products that they cover (§4.13 rule 7)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Shares');
  const screws = Array.from({ length: 201 }, (_, index) => ({
    identifier: `SCREW-${index}`,
    name: `Screw ${index}`,
    productUrl: 'https://shop.example/screw',
    attributes: [{ key: 'Brand', value: index % 2 === 0 ? 'Even' : 'Odd' }],
  }));
  const { task } = await service.relata.products.replace(screws, { projectId: id });
  await service.relata.tasks.wait(task.id);
  const page = await enter(`#/projects/${id}/products?q=screw`);
  await page.getByText('201 products found').waitFor();
  await page.getByText('The counts cover the first 200 products found.').waitFor();
  await page.getByRole('checkbox', { name: /^Odd (99|100)$/ }).waitFor();
});

test('the table shows the chosen attributes in the chosen order (§4.13 rule 6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Columns');
  const page = await enter(`#/projects/${id}/products?category=Tools+%3E+Bits`);
  await page.getByText('15 products found', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('button', { name: 'Price', exact: true }).click();
  await page.getByRole('button', { name: 'Shank', exact: true }).click();
  await page.getByRole('button', { name: 'Remove Group' }).click();
  await page.getByRole('button', { name: 'Move Shank up' }).click();
  await page.getByLabel('Order of products').selectOption('Price, largest first');
  await page.keyboard.press('Escape');
  await page.getByText('15 products found').waitFor();
  const cells = page.getByRole('row').first().getByRole('gridcell');
  await cells.getByText('6.50 EUR').waitFor();
  assert.deepEqual((await cells.allTextContents()).slice(3, 4), ['Tools › Bits']);
  assert.match(
    (await cells.allTextContents()).slice(5).join(' | '),
    /^(SDS-plus|Hexagon.*|Keyless.*) \| 6\.50 EUR$/,
  );

  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByLabel('Name of the current view').fill('Dear bits');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const view = page.getByRole('link', { name: 'Dear bits' });
  const link = await view.getAttribute('href');
  const countViews = () =>
    page.evaluate((key) => JSON.parse(localStorage.getItem(key) ?? ''), `relata-views-${id}`);
  await page.evaluate(
    ([key, ours]) => localStorage.setItem(key, JSON.stringify([...ours, { name: 'Theirs', query: '' }])),
    [`relata-views-${id}`, await countViews()] as const,
  );
  await page.getByLabel('Name of the current view').fill('Ours');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const names = (await countViews()).map(({ name }: { name: string }) => name);
  assert.deepEqual(names, ['Dear bits', 'Theirs', 'Ours'], 'a view that another tab has saved stays');
  await page.keyboard.press('Escape');

  await page.goto(`${service.url}/console/#/projects/${id}/products`);
  await page.getByText('33 products').waitFor();
  await page.getByRole('gridcell').getByText('Keyless 13 mm').first().waitFor();
  const head = page.locator('.grid-head');
  assert.equal(await head.textContent(), 'ProductCategoryChangedShankPrice');
  const csv = await download(page, 'csv');
  assert.equal(csv.length, 35, 'a header, a line for each product, and a final line break');
  assert.equal(csv[0], '\ufeffidentifier,name,Category,Changed,Shank,Price');
  assert.match(
    csv.find((line) => line.startsWith('BIT-1-04')) ?? '',
    /,Tools › Bits,\d{4}-.*Z,SDS-plus,3\.80 EUR$/,
  );
  const whole = (await download(page, 'ndjson'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  assert.equal(whole.length, 33);
  assert.deepEqual(
    Object.keys(whole[0]).filter((key) => key === 'id' || key === 'lastUpdateTs'),
    [],
  );
  const other = await enter(link ?? '');
  await other.getByText('15 products found').waitFor();
  assert.equal(
    await other.locator('.grid-head').textContent(),
    await head.textContent(),
    'of another browser',
  );
  await page.getByRole('button', { name: 'Views' }).click();
  await view.click();
  await page.getByText('15 products found').waitFor();
  assert.equal((await download(page, 'csv')).length, 17, 'the export has only the listed products');
});

test('shows the effect before several products are deleted or reprocessed, and restores deleted ones (§4.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Together');
  const page = await enter(`#/projects/${id}/products?category=Tools+%3E+Bits`);
  await page.getByText('15 products found', { exact: true }).waitFor();
  const act = async (name: string | RegExp) => {
    await page.getByRole('button', { name: /^Actions/ }).click();
    await page.getByRole('menuitem', { name }).click();
    return page.getByRole('dialog');
  };
  const all = await act('Delete all products found …');
  await all.getByText('15 products are deleted:').waitFor();
  await all.getByText('15 are results of other products').waitFor();
  await all.getByRole('link', { name: 'Bits for this drill' }).waitFor();
  const confirm = all.getByRole('button', { name: 'Delete', exact: true });
  await page.route('**/tasks/*', (route) => route.abort());
  await confirm.click();
  await all.getByText('The service cannot be reached').waitFor();
  await page.unroute('**/tasks/*');
  await confirm.click();
  await page.getByText('No product matches all of these').waitFor();
  const undo = page.getByRole('button', { name: 'Undo', exact: true });
  await page.route('**/commits*', (route) => route.abort());
  await undo.click();
  await page.getByText('The service cannot be reached').first().waitFor();
  await page.unroute('**/commits*');
  await undo.click();
  await page.getByText('15 products are back').waitFor();
  await page.getByText('15 products found', { exact: true }).waitFor();

  await page.getByRole('checkbox', { name: 'Choose BIT-3-10' }).check();
  await page.getByRole('grid').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Space');
  const two = await act('Reprocess 2 chosen products …');
  await two.getByText('2 products are read again:').waitFor();
  await two.getByRole('button', { name: 'Reprocess', exact: true }).click();
  await page.getByText('the unit is missing').waitFor();
});

test('changes only the edited attributes of a product, and reports changes by another user (§2.3 rule 12)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const { relata } = service;
  const id = await makeExampleProject(service, 'Edited');
  const page = await enter(`#/projects/${id}/products/BIT-3-10`);
  const dialog = page.getByRole('dialog');
  const open = () => page.getByRole('button', { name: 'Edit attributes …' }).click();
  await open();
  await dialog.getByLabel('Value of Diameter').fill('10 mm');
  await dialog.getByText('a number, one space and mm').waitFor();
  await dialog.getByRole('region', { name: 'Effect of sending' }).getByText('10 mm').waitFor();
  // The test declines the question.
  await page.keyboard.press('Escape');
  assert.equal(await dialog.getByLabel('Value of Diameter').inputValue(), '10 mm', 'no typed input is lost');
  const theirs = { identifier: 'BIT-3-10', attributes: { Diameter: '11 mm', Colour: 'grey' } };
  const { task } = await relata.products.change([theirs], { projectId: id });
  await relata.tasks.wait(task.id);
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByText('Changed in the meantime: Diameter').waitFor();
  await dialog.getByRole('cell', { name: '11 mm' }).waitFor();
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.getByText('BIT-3-10 is changed').waitFor();
  const { upload } = await relata.products.open(id, 'BIT-3-10');
  const values = Object.fromEntries((upload.attributes ?? []).map(({ key, value }) => [key, value]));
  assert.deepEqual([values.Diameter, values.Colour, values.Brand], ['10 mm', 'grey', 'Bohrmeister']);

  const picture = page.getByRole('region', { name: 'Related products as a picture' });
  await picture
    .getByRole('link', { name: /Keyless/ })
    .first()
    .waitFor();
  await open();
  await dialog.getByLabel('Value of Shank').fill('SDS-plus');
  await dialog.getByRole('region', { name: 'Effect of sending' }).getByText('SDS-plus').waitFor();
  await dialog.getByRole('button', { name: 'Send' }).click();
  await picture
    .getByRole('link', { name: /drill 18 V, SDS-plus/ })
    .first()
    .waitFor();
});

/** @returns the lines of the file that the page writes */
async function download(page: Page, format: 'csv' | 'ndjson'): Promise<string[]> {
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByLabel('Content').selectOption(format);
  const file = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Write the file' }).click();
  return readFileSync(await (await file).path(), 'utf8').split(/\r?\n/);
}

test('shows the effect of a changed attribute before it is saved (§11.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/ontology`);
  await page.getByText('1 not usable').waitFor();
  await page.getByRole('button', { name: 'Diameter' }).click();
  await page.getByText('unit_missing').waitFor();
  await page.getByLabel('Unit').fill('');
  await page.getByText('Become usable').first().waitFor();
  await page.getByRole('link', { name: 'BIT-3-10' }).first().waitFor();
});

test('lists the coverage of a category, the lowest first, with links to the incomplete products (§11.6 rule 8)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service, 'Covered');
  const page = await enter(`#/projects/${id}/ontology`);
  await page.getByLabel('Coverage of a category').fill('Tools > Bits');
  await page.keyboard.press('Tab');
  const covered = page.locator('section', { has: page.getByRole('heading', { name: 'Coverage of Bits' }) });
  const rows = covered.getByRole('row');
  await rows.nth(1).waitFor();
  assert.match((await rows.nth(1).textContent()) ?? '', /^Diameter93\.3% of Bits1 product$/);
  await covered.getByText('100% of Bits: Brand, Price and Shank').waitFor();
  await covered.getByRole('link', { name: '1 product of Bits without Diameter' }).click();
  await page.getByText('1 product found').waitFor();
  await page.getByRole('link', { name: 'BIT-3-10' }).waitFor();
  await page.getByRole('button', { name: 'Remove Diameter: missing' }).waitFor();
});

test('a suggestion becomes a draft, or is dismissed permanently (§17)', async (t) => {
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
    Array.from({ length: count }, (_, index) => ({
      identifier: `${kind}-${index}`,
      name: `${kind} ${index}`,
      categories: [{ path: ['Shop', path] }],
      attributes: [
        { key: 'Wheel size', value: sizes[index % 4] ?? '' },
        { key: `${path} weight`, value: index === 7 ? 'light' : `${index} g` },
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
  await weight.getByText('1 value to check').waitFor();
  await weight.getByRole('button', { name: 'Show the effect …' }).click();
  await page.getByRole('dialog').getByText('Become usable').first().waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The attributes are saved').waitFor();
  await weight.waitFor({ state: 'detached' });
  const { value } = await relata.ontology.get(id);
  assert.equal(value.attributes.find(({ name }) => name === 'Tyres weight')?.unitName, 'g');

  const relation = page
    .locator('section', { has: page.getByRole('heading', { name: /for (Tyres|Frames)$/ }) })
    .first();
  await relation.getByText('Wheel size is the same').waitFor();
  const other = page.locator('section', {
    has: page.getByRole('heading', { name: /^Change Frames weight/ }),
  });
  await other.getByRole('button', { name: 'Dismiss' }).click();
  await other.waitFor({ state: 'detached' });
  await page.reload();
  await signInByKey(page, service.key);
  await relation.getByRole('link', { name: 'Try it' }).click();
  await page.getByText('have results').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  // The suggested relation already has a name and a tag.
  await page.getByRole('button', { name: 'Create the relation' }).click();
  await page.getByText('The relation is saved').waitFor();
});

test('shows related products as cards by relation, groups variants, and explains relations without results (§12.7)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const source = { category: ['Tools', 'Drills'] };
  await service.relata.relations.create(id, { name: 'Cases', tag: 'cases', source, target: source });
  await untilBuilt(service.relata, id);
  const page = await enter(`#/projects/${id}/products/BIT-1-04`);
  const card = page.locator('section.card', {
    has: page.getByRole('heading', { name: 'Related products', exact: true }),
  });
  await card.getByText('Both ways: they are shown with this product').waitFor();
  const folded = card.getByRole('listitem').filter({ hasText: '2 more variants' });
  assert.equal(await folded.count(), 2, 'one card for each drill, with all of its colours');
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

test('the keyboard moves from product to product in the picture, and back (§14.5)', async (t) => {
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
  assert.ok(!(await focused()).endsWith(bit), 'the down key moves to another product');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await middle(bit).waitFor();
  assert.match(await focused(), new RegExp(`${bit}Open the product page$`), 'the focus is in the middle');
  assert.match(page.url(), new RegExp(`DRILL-118-BLUE[?]via=${bit}$`), 'the path can be shared');
  await picture.getByText('3 variants').first().waitFor();
  assert.deepEqual(await findBarriers(page), []);

  const way = page.getByRole('navigation', { name: 'Path so far' });
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
  await middle(bit).getByText('Open the product page').click();
  await page.getByRole('heading', { level: 1, name: /^Drill bit/ }).waitFor();
});
