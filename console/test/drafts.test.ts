// runs: long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Console, findBarriers, makeExampleProject, startConsole } from './harness.ts';

async function findRelation({ service }: Console) {
  const { relata } = service;
  const id = await makeExampleProject(service);
  const [relation] = await relata.relations.list(id);
  const ids = { projectId: id, relationId: relation?.id ?? 0 };
  const read = async () => (await relata.relations.get(id, ids.relationId)).value;
  const path = `#/projects/${id}/relations/${ids.relationId}`;
  return { ids, read, path, details: `${path}?step=details` };
}

test('typed input is kept', async (t) => {
  const console = await startConsole(t);

  await t.test(
    'shows both versions of a part that two users have changed, and merges other parts (§7.6)',
    async () => {
      const { relata } = console.service;
      const { ids, read, details } = await findRelation(console);
      const value = await read();
      const page = await console.enter(details);
      const tag = page.getByLabel('Tag', { exact: true });
      /** Leaves the page and returns until the page has read the definition again. */
      const comeBackUntil = async (isDone: () => Promise<boolean>) => {
        for (let times = 0; !(await isDone()); times += 1) {
          assert.ok(times < 100, 'the page reads the definition again when the user returns');
          await page.evaluate(() => dispatchEvent(new Event('visibilitychange')));
          await page.waitForTimeout(200);
        }
      };

      const meanwhile = page.getByRole('alert', { name: 'Changed in the meantime' });

      // A description that no other user has changed causes no question.
      await tag.fill('merged');
      await relata.relations.put(ids, { ...value, description: 'only theirs' });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The relation is saved').waitFor();
      const merged = await read();
      assert.deepEqual([merged.tag, merged.description], ['merged', 'only theirs']);
      assert.equal(await meanwhile.count(), 0);
      await page.locator('.toast').getByLabel('Dismiss').click();
      await comeBackUntil(async () => (await page.getByLabel('Description').inputValue()) === 'only theirs');

      await tag.fill('mine');
      await page.getByLabel('Description').fill('my words');
      await relata.relations.put(ids, { ...value, tag: 'theirs', description: 'their words' });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('is not saved, because it was changed in the meantime').waitFor();
      assert.equal((await read()).tag, 'theirs');
      await meanwhile.getByRole('row', { name: /^Tag mine theirs/ }).waitFor();
      await meanwhile
        .getByRole('row', { name: /^Description/ })
        .getByRole('button', { name: 'Use their version' })
        .click();
      assert.equal(await page.getByLabel('Description').inputValue(), 'their words');
      await meanwhile.getByRole('button', { name: 'Keep my version' }).click();
      await meanwhile.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The relation is saved').waitFor();
      const saved = await read();
      assert.deepEqual([saved.tag, saved.description], ['mine', 'their words']);

      // A user who has typed nothing sees the stored version after returning. The user's own save does not
      // count as a change by another user.
      await relata.relations.put(ids, { ...saved, tag: 'newer' });
      await comeBackUntil(async () => (await tag.inputValue()) === 'newer');
      assert.equal(await meanwhile.count(), 0);

      // The notice of a save undoes the save, unless the definition was changed since.
      const undo = page.getByRole('button', { name: 'Undo', exact: true });
      await page.locator('.toast').getByLabel('Dismiss').click();
      await undo.waitFor({ state: 'detached' });
      await tag.fill('undone');
      await page.getByRole('button', { name: 'Save' }).click();
      await undo.click();
      await comeBackUntil(async () => (await tag.inputValue()) === 'newer');
      assert.equal((await read()).tag, 'newer');
      await tag.fill('kept');
      await page.getByRole('button', { name: 'Save' }).click();
      await undo.waitFor();
      await relata.relations.put(ids, { ...saved, tag: 'of others' });
      await undo.click();
      await page.getByText('nothing is undone').first().waitFor();
      assert.equal((await read()).tag, 'of others');
      await comeBackUntil(async () => (await tag.inputValue()) === 'of others');

      // A draft keeps its base when the page reads the definition again beside it.
      await tag.fill('mine again');
      await relata.relations.put(ids, { ...saved, tag: 'theirs again' });
      await comeBackUntil(async () => (await meanwhile.count()) > 0);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('is not saved, because it was changed in the meantime').waitFor();
      assert.equal((await read()).tag, 'theirs again');
    },
  );

  await t.test(
    'a second save keeps changes of others, also if the first save could not be read again (§7.6)',
    async () => {
      const { relata } = console.service;
      const { ids, read, details } = await findRelation(console);
      const page = await console.enter(details);
      const tag = page.getByLabel('Tag', { exact: true });
      const save = page.getByRole('button', { name: 'Save' });
      await tag.waitFor();
      const url = new RegExp(`/relations/${ids.relationId}$`);
      await page.route(url, (route) =>
        route.request().method() === 'GET' ? route.fulfill({ status: 500 }) : route.continue(),
      );
      const refused = page.waitForResponse((response) => response.status() === 500);
      await tag.fill('mine');
      await save.click();
      await page.getByText('The relation is saved').waitFor();
      await refused;
      await page.unroute(url);
      await relata.relations.put(ids, { ...(await read()), description: 'their words' });
      await tag.fill('mine again');
      await save.click();
      await page.waitForResponse((response) => response.request().method() === 'PUT' && response.ok());
      const { tag: saved, description } = await read();
      assert.deepEqual([saved, description], ['mine again', 'their words']);
    },
  );

  await t.test(
    'keeps the synonyms of two users who change the same attribute, and asks about a real conflict (§11.1)',
    async () => {
      const { relata } = console.service;
      const id = await makeExampleProject(console.service);
      const changeColour = async (changed: object) => {
        const { value } = await relata.ontology.get(id);
        const attributes = value.attributes.map((attribute) =>
          attribute.name === 'Colour' ? { ...attribute, ...changed } : attribute,
        );
        await relata.ontology.put(id, { ...value, attributes });
      };
      const readColour = async () =>
        (await relata.ontology.get(id)).value.attributes.find(({ name }) => name === 'Colour');
      const page = await console.enter(`#/projects/${id}/ontology`);
      const open = page.getByRole('button', { name: 'Colour', exact: true });
      const dialog = page.getByRole('dialog', { name: 'Colour' });
      const save = dialog.getByRole('button', { name: 'Save', exact: true });

      await open.click();
      await dialog.getByLabel('Type').selectOption('UNTYPED_ATTRIBUTE');
      await changeColour({ synonyms: ['Color', 'Farbe'] });
      await save.click();
      await dialog.waitFor({ state: 'detached' });
      const { type, synonyms } = (await readColour()) ?? {};
      assert.deepEqual([type, synonyms], ['UNTYPED_ATTRIBUTE', ['Color', 'Farbe']]);

      await open.click();
      await dialog.getByLabel('Type').selectOption('TEXT_ATTRIBUTE');
      await changeColour({ type: 'DATE_ATTRIBUTE', synonyms: ['Color', 'Couleur'] });
      await save.click();
      await dialog.getByText('is not saved, because it was changed in the meantime').waitFor();
      const row = dialog.getByRole('row', { name: /^Type TEXT_ATTRIBUTE DATE_ATTRIBUTE/ });
      await row.getByRole('button', { name: 'Use their version' }).click();
      assert.equal(await dialog.getByLabel('Synonyms').inputValue(), 'Color, Couleur');
      assert.equal((await readColour())?.type, 'DATE_ATTRIBUTE');
    },
  );

  await t.test('merges project settings that two users change (§14.2)', async () => {
    const { relata } = console.service;
    const id = await makeExampleProject(console.service, 'Two people');
    const page = await console.enter(`#/projects/${id}/settings`);
    await page.getByLabel('Tags').fill('mine');
    await relata.projects.change(id, { name: 'Theirs', settings: { keptCommits: 3 } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('The settings are saved').waitFor();
    const { name, tags, settings } = await relata.projects.get(id);
    assert.deepEqual([name, tags, settings.keptCommits], ['Theirs', ['mine'], 3]);
  });

  await t.test('a row keeps its input and the focus when the row before it is removed (§14.5)', async () => {
    const { read, path } = await findRelation(console);
    const page = await console.enter(path);
    await page.getByText('More: both sides as a form').click();
    const card = page.locator('section', {
      has: page.getByRole('heading', { name: 'From these products' }),
    });
    const values = card.getByLabel('Value');
    for (const value of ['one', 'two', 'three']) {
      const count = await values.count();
      await card.getByRole('button', { name: 'Attribute', exact: true }).click();
      await page.keyboard.type('Colour');
      await page.keyboard.press('Escape');
      await values.nth(count).fill(value);
    }
    const first = (await values.count()) - 3;
    const crosses = card.getByRole('button', { name: 'Remove this condition' });
    await crosses.nth((await crosses.count()) - 2).click();
    assert.equal(
      await page.evaluate(() => document.activeElement?.getAttribute('aria-label')),
      'Remove this condition',
    );
    assert.deepEqual(await Promise.all([first, first + 1].map((index) => values.nth(index).inputValue())), [
      'one',
      'three',
    ]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The relation is saved').waitFor();
    const text = JSON.stringify((await read()).source);
    assert.match(text, /"one".*"three"/);
    assert.doesNotMatch(text, /two/);
  });

  await t.test('the console asks before unsaved input is lost (§14.5)', async () => {
    const { details } = await findRelation(console);
    const page = await console.enter(details);
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    await page.getByLabel('Tag', { exact: true }).fill('mine');
    await page.getByRole('link', { name: 'Attributes', exact: true }).click();
    await question.getByText('Your changes will be lost.').waitFor();
    assert.deepEqual(await findBarriers(page), []);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.waitForURL((url) => url.hash === details);
    assert.equal(await page.getByLabel('Tag', { exact: true }).inputValue(), 'mine');
    await page.getByRole('link', { name: 'Attributes', exact: true }).click();
    await question.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { name: 'Attributes', exact: true }).waitFor();
  });

  await t.test(
    'a view reports a file that cannot be loaded, and reloads the page after an update of the console (§14.5)',
    async () => {
      const id = await makeExampleProject(console.service);
      const page = await console.enter(`#/projects/${id}`);
      await page.getByText('What needs attention').waitFor();
      const away = /relations-.*\.js|\/console\/$/;
      await page.route(away, (route) => route.abort());
      await page.getByRole('link', { name: 'Relations' }).click();
      await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
      await page.getByRole('link', { name: 'Attributes', exact: true }).click();
      await page.getByRole('heading', { name: 'Attributes', exact: true }).waitFor();
      await page.unroute(away);

      let isGone = true;
      await page.route(/pipelines-.*\.js/, (route) => {
        if (!isGone) return route.continue();
        isGone = false;
        return route.fulfill({ status: 404 });
      });
      await page.evaluate(() => Object.assign(globalThis, { isOld: true }));
      await page.getByRole('link', { name: 'Pipelines' }).click();
      await page.waitForFunction(() => !('isOld' in globalThis));
    },
  );
});
