import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');

export interface Page {
  /** From the root of the repository: `docs/decisions/0011-postgresql.md`. */
  readonly source: string;
  /** From `/docs/`, without an ending: `decisions/0011-postgresql`. The first page has none. */
  readonly url: string;
  readonly title: string;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const HOME = 'docs/README.md';
const START = [HOME, 'docs/tutorial.md'];
const HOW_TO = [
  'load-a-catalog',
  'import-a-file',
  'import-bmecat',
  'exchange-etim',
  'relate-products',
  'connect-magento',
  'publish-to-google',
  'publish-to-shopify',
  'publish-to-woocommerce',
  'publish-to-magento',
];
const REFERENCE = [
  'command-line',
  'channels',
  'events',
  'connectors',
  'agents',
  'ucp-compatibility',
  'glossary',
];
const OPERATING = [
  'README',
  'install',
  'settings',
  'data-flows',
  'monitoring',
  'backup',
  'postgresql',
  'capacity',
];
const PROJECT = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
const CLIENTS = '{client,clients/*}/README.md';

/** The navigation, in order. A page that it does not name comes last in its section, so no page is missing. */
export function listSections(): readonly Section[] {
  const reference = listFolder('docs', REFERENCE).filter((path) => !START.includes(path));
  return [
    { title: 'Start', pages: START.map(readPage) },
    { title: 'How to', pages: listFolder('docs/how-to', HOW_TO).map(readPage) },
    { title: 'Operating', pages: listFolder('docs/operating', OPERATING).map(readPage) },
    { title: 'Interface', pages: listFolder('docs/interface', ['README']).map(readPage) },
    { title: 'Reference', pages: reference.map(readPage) },
    { title: 'Inside', pages: [...PROJECT, ...findFiles(CLIENTS)].map(readPage) },
    { title: 'Decisions', pages: listFolder('docs/decisions', []).map(readPage) },
  ];
}

/** @returns the pages of a folder: named pages first, then the others by name */
function listFolder(folder: string, first: readonly string[]): string[] {
  const named = first.map((name) => `${folder}/${name}.md`);
  return [...named, ...findFiles(`${folder}/*.md`).filter((path) => !named.includes(path))];
}

const findFiles = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();

function readPage(source: string): Page {
  const [, title] = /^# (.+)$/m.exec(readText(source)) ?? [];
  if (title === undefined) throw new Error(`${source} has no title: begin it with a line "# …"`);
  return { source, url: urlOf(source), title: title.replaceAll('`', '') };
}

export const readText = (source: string): string => readFileSync(join(ROOT, source), 'utf8');

function urlOf(source: string): string {
  if (source === HOME) return '';
  if (source.startsWith('docs/')) return source.slice('docs/'.length).replace(/(?:\/README)?\.md$/, '');
  return source.replace(/(?:\/README)?\.md$/, '').toLowerCase();
}

/** @returns the relative path from one page to another, or to a file such as `assets/site.css` */
export function linkTo(from: Page, url: string): string {
  const folder = `/docs/${from.url}`.replace(/[^/]*$/, '');
  const way = posix.relative(folder, `/docs/${url}`);
  if (url === '') return `${way || '.'}/`;
  // A page with the name of its folder, such as `operating`, is above the pages in the folder.
  return way === '' ? `../${posix.basename(url)}` : way;
}

export interface Link {
  readonly href: string;
  /** Replaces the name of a file. */
  readonly title?: string;
}

/** @returns undefined for a file of the repository that the site does not have */
export function resolveLink(page: Page, href: string, pages: readonly Page[]): Link | undefined {
  if (/^[a-z]+:/.test(href) || href.startsWith('#')) return { href };
  const [path = '', hash] = href.split('#');
  const target = posix.normalize(posix.join(posix.dirname(page.source), path)).replace(/\/$/, '');
  if (target === 'docs/openapi.json') return { href: linkTo(page, '../openapi.json') };
  const found =
    pages.find(({ source }) => source === target) ??
    pages.find(({ source }) => posix.dirname(source) === target);
  if (found === undefined) return undefined;
  return { href: linkTo(page, found.url) + (hash === undefined ? '' : `#${hash}`), title: found.title };
}
