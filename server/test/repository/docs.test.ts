// runs: deep
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** The pages of docs/ as built by `npm run docs`, and the files as readers of the repository see them. */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const dist = mkdtempSync(join(tmpdir(), 'relata-docs-'));
/** An exception: the page has the contents of the interface, and its policy allows its inline style. */
const API = '/docs/api';

const pages = new Map<string, string>();
before(() => {
  const built = spawnSync(process.execPath, [join(root, 'site/build.ts'), dist], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  for (const path of globSync('**/*.html', { cwd: dist })) {
    const name = path.replaceAll('\\', '/').replace(/(?:^index)?\.html$/, '');
    pages.set(`/docs/${name}`, readFileSync(join(dist, path), 'utf8'));
  }
});
after(() => rmSync(dist, { recursive: true }));

const listTexts = () => [...pages].filter(([path]) => path !== API);
const listLinks = (page: string) =>
  [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));

test('each link of the documentation leads to an existing page and heading', () => {
  assert.ok(pages.size > 30, `${pages.size} pages`);
  const ids = new Map([...pages].map(([path, page]) => [path, idsOf(page)]));
  const isThere = ({ origin, pathname, hash }: URL) => {
    if (origin !== 'http://here' || pathname === '/openapi.json') return true;
    if (/\.\w+$/.test(pathname)) return existsSync(join(dist, pathname.slice('/docs/'.length)));
    const target = ids.get(pathname);
    return hash === '' ? target !== undefined : target?.has(decodeURIComponent(hash.slice(1))) === true;
  };
  for (const [path, page] of pages) {
    const dead = listLinks(page).filter((href) => !isThere(new URL(href, `http://here${path}`)));
    assert.deepEqual(dead, [], path);
  }
});

test('each file of docs/ is a page, and the navigation of each page lists all pages', () => {
  const files = globSync('docs/**/*.md', { cwd: root }).map((path) =>
    `/${path.replaceAll('\\', '/')}`.replace(/^(\/docs\/)README\.md$|(?:\/README)?\.md$/, '$1'),
  );
  for (const [path, page] of listTexts()) {
    const [, navigation = ''] = /<div class="side">(.*?)<\/div>/s.exec(page) ?? [];
    const listed = new Set(listLinks(navigation).map((href) => new URL(href, `http://here${path}`).pathname));
    assert.deepEqual(
      [...files, ...pages.keys()].filter((path) => !listed.has(path)),
      [],
      `not in the navigation of ${path}`,
    );
  }
});

test('each link between files of the repository leads to an existing file', () => {
  const dead: string[] = [];
  for (const path of globSync(['*.md', 'docs/**/*.md', 'client/*.md', 'clients/*/*.md'], { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8').replaceAll(/^```.*?^```/gms, '');
    for (const [, href = ''] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (!/^[a-z]+:/.test(href) && !existsSync(join(root, dirname(path), href)))
        dead.push(`${path}: ${href}`);
    }
  }
  assert.deepEqual(dead, []);
});

test('each npm script that a page names exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const path of globSync(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8');
    const named = [...text.matchAll(/npm run (?:-s )?([a-z:]+)\b(?!\s+--workspace)/g)].map(
      ([, name = '']) => name,
    );
    assert.deepEqual(
      named.filter((name) => !(name in scripts)),
      [],
      path,
    );
  }
});

test('a page contains no inline script, inline style or external image, because the content policy forbids them', () => {
  for (const [path, page] of listTexts()) {
    assert.doesNotMatch(page, /<script>|<style|\sstyle=|\son[a-z]+="|src="https?:/, path);
    assert.doesNotMatch(page, /SEARCH_INDEX/, path);
  }
});

test('llms.txt lists each page as Markdown, whose links lead to Markdown', () => {
  const list = readFileSync(join(dist, 'llms.txt'), 'utf8');
  const listed = [...list.matchAll(/\]\(\/docs\/([^)]+\.md)\)/g)].map(([, path = '']) => path);
  assert.equal(listed.length, listTexts().length);
  for (const path of listed) {
    const text = readFileSync(join(dist, path), 'utf8');
    assert.match(text, /^# /m, path);
    const links = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/\]\(([^)#\s:]+\.md)(?:#[^)]*)?\)/g)];
    const dead = links.filter(([, href = '']) => !existsSync(join(dist, dirname(path), href)));
    assert.deepEqual(
      dead.map(([whole]) => whole),
      [],
      path,
    );
  }
});

test('the search finds headings and calls', async () => {
  const [name = ''] = globSync('assets/search-*.json', { cwd: dist });
  const { storedFields, documentIds } = JSON.parse(readFileSync(join(dist, name), 'utf8'));
  const titles = Object.values<{ title: string }>(storedFields).map(({ title }) => title);
  for (const title of ['4.5 Restore', 'Behind a proxy', 'Whether the process runs'])
    assert.ok(titles.includes(title), title);
  const headingIds = idsOf(pages.get(API) ?? '');
  const calls = Object.values<string>(documentIds).filter((id) => id.startsWith('api#'));
  assert.ok(calls.length > 100, `${calls.length} calls`);
  assert.deepEqual(
    calls.filter((id) => !headingIds.has(id.slice('api#'.length))),
    [],
  );
});

test('the rules of each section of docs/interface are numbered from 1 without a gap, so none is under another section', () => {
  const chapters = globSync('docs/interface/*.md', { cwd: root }).sort();
  const text = chapters
    .map((path) => readFileSync(join(root, path), 'utf8').replace(/```.*?```/gs, ''))
    .join('\n');
  const [, ...parts] = text.split(/^(#{1,3} .*)$/m);
  const numbered = parts.flatMap((part, index) => {
    if (!part.startsWith('#')) return [];
    const numbers = [...(parts[index + 1] ?? '').matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));
    return numbers.length === 0 ? [] : [{ section: part, numbers: numbers.sort((a, b) => a - b) }];
  });
  assert.ok(numbered.length > 80, `${numbered.length} sections have rules`);
  for (const { section, numbers } of numbered)
    assert.deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_, index) => index + 1),
      section,
    );
});
