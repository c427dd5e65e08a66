/**
 * `npm run docs`: docs/ as pages in site/dist, or in a named folder, with navigation and a search that needs no
 * network.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Eleventy, type EleventyConfig } from '@11ty/eleventy';
import MiniSearch from 'minisearch';
import { rolldown } from 'rolldown';
import { writeApiPage } from './api-page.ts';
import { adaptMarkdown } from './markdown.ts';
import { linkTo, listSections, type Page, readText, resolveLink } from './pages.ts';
import { type Found, SEARCH_OPTIONS } from './search-options.ts';
import { listPageSections } from './sections.ts';

const HERE = import.meta.dirname;
const PLACE = join(HERE, 'dist');
const NEXT = join(HERE, 'next');
const asked = process.argv[2];
const DIST = resolve(asked ?? join(NEXT, 'dist'));
const ASSETS = join(DIST, 'assets');

const sections = listSections();
const pages = sections.flatMap((section) => section.pages);

/** Writes a file whose name contains a hash of its content, so that it can be cached forever. @returns its name */
function writeAsset(name: string, content: string | Uint8Array): string {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8);
  const named = name.replace(/\.(\w+)$/, `-${hash}.$1`);
  writeFileSync(join(ASSETS, named), content);
  return `assets/${named}`;
}

async function bundle(name: string): Promise<string> {
  const program = await rolldown({ input: join(HERE, 'browser', `${name}.ts`), platform: 'browser' });
  const { output } = await program.generate({ format: 'iife', minify: true });
  return writeAsset(`${name}.js`, output[0].code);
}

async function writeAssets(): Promise<Record<string, string | undefined>> {
  rmSync(asked === undefined ? NEXT : DIST, { recursive: true, force: true });
  mkdirSync(ASSETS, { recursive: true });
  const [theme, blocks, search] = await Promise.all(['theme', 'blocks', 'search'].map(bundle));
  const style = globSync('styles/*.css', { cwd: HERE })
    .sort()
    .map((path) => readText(`site/${path}`));
  return {
    theme,
    blocks,
    search,
    style: writeAsset('site.css', style.join('\n')),
    mark: writeAsset('mark.svg', readText('console/src/mark.svg')),
  };
}

/** Pictures beside the pages that show them, under their own names. */
function copyPictures(): void {
  for (const path of globSync('docs/*.svg', { cwd: join(HERE, '..') }))
    writeFileSync(join(DIST, path.slice('docs/'.length)), readText(path));
}

function configure(config: EleventyConfig, assets: Record<string, string | undefined>): void {
  config.setUseGitIgnore(false);
  config.amendLibrary('md', (markdown) => adaptMarkdown(markdown, pages));
  config.addFilter('contents', (page) => listPageSections(page).filter(({ level }) => level > 1));
  for (const [at, page] of pages.entries()) {
    const link = (url: string) => linkTo(page, url);
    config.addTemplate(`${page.url || 'index'}.md`, readText(page.source), {
      // Braces of an example do not form a template.
      templateEngineOverride: 'md',
      layout: 'page.njk',
      permalink: `${page.url || 'index'}.html`,
      self: page,
      title: page.title,
      ...navigate(page),
      home: link(''),
      api: link('api'),
      assets: Object.fromEntries(Object.entries(assets).map(([name, url = '']) => [name, link(url)])),
      before: step(page, pages[at - 1]),
      after: step(page, pages[at + 1]),
    });
  }
}

/** Sections with many pages. The navigation unfolds them only on their own pages. */
const LONG_SECTIONS = ['Interface', 'Decisions'];

const step = (from: Page, to: Page | undefined) => to && { title: to.title, href: linkTo(from, to.url) };

function navigate(page: Page) {
  const navigation = sections.map((section) => ({
    title: section.title,
    isOpen: !LONG_SECTIONS.includes(section.title) || section.pages.includes(page),
    pages: section.pages.map((one) => ({
      title: one.title,
      href: linkTo(page, one.url),
      isHere: one === page,
    })),
  }));
  return { navigation };
}

/** Sections of all pages, and the operations of the API page. */
function writeSearchIndex(): void {
  const index = new MiniSearch<Found>(SEARCH_OPTIONS);
  for (const { url, title } of pages) {
    const html = readFileSync(join(DIST, `${url || 'index'}.html`), 'utf8');
    const main = /<main[^>]*>(.*)<\/main>/s.exec(html)?.[1] ?? '';
    for (const part of listPageSections(main))
      index.add({ id: `${url || './'}#${part.id}`, page: title, title: part.title, text: part.text });
  }
  const { paths } = JSON.parse(readText('docs/openapi.json')) as {
    paths: Record<string, Record<string, { operationId: string; summary?: string }>>;
  };
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { operationId, summary = path }] of Object.entries(operations))
      index.add({
        id: `api#${operationId}`,
        page: 'API',
        title: summary,
        text: `${method.toUpperCase()} ${path}`,
      });
  const name = writeAsset('search.json', JSON.stringify(index));
  for (const path of globSync('**/*.html', { cwd: DIST })) {
    const file = join(DIST, path);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('SEARCH_INDEX', name));
  }
}

/** Writes each page as Markdown, and `llms.txt`, which lists them, for readers that are programs. Source: llmstxt.org. */
function writeMarkdown(): void {
  for (const page of pages) {
    const text = readText(page.source).replaceAll(LINK, (link, name: string, href: string) =>
      adaptLink(page, { link, name, href }),
    );
    writeFileSync(join(DIST, markdownOf(page.url)), text);
  }
  const list = sections.map(
    ({ title, pages: listed }) =>
      `## ${title}\n\n${listed.map((page) => `- [${page.title}](/docs/${markdownOf(page.url)})\n`).join('')}`,
  );
  writeFileSync(join(DIST, 'llms.txt'), `# Relata\n\n> ${SUMMARY}\n\n${list.join('\n')}`);
}

/** @returns a link of a page as a link to Markdown, or only its name if the site does not have the file */
function adaptLink(page: Page, { link, name, href }: Record<'link' | 'name' | 'href', string>): string {
  const found = resolveLink(page, href, pages);
  if (found === undefined) return href.endsWith('.md') ? name : link;
  if (found.title === undefined) return link;
  const [path = '', hash] = found.href.split('#');
  return `[${name}](${markdownOf(path)}${hash === undefined ? '' : `#${hash}`})`;
}

/** The text and the address of a link in Markdown. */
const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;

const SUMMARY =
  'A self-hosted product data service. It holds product catalogs, and answers what a product is and which products go with it.';

/** @returns the path of a page as Markdown, from its URL; the first page has none */
const markdownOf = (url: string): string => `${url.replace(/\/$/, '/index').replace(/^\.?$/, 'index')}.md`;

/** Packs the pages and puts them in place in one step, because a service may read them during a build. */
function putInPlace(): void {
  execFileSync(process.execPath, [join(HERE, '../console/compress.ts'), DIST], { stdio: 'inherit' });
  if (existsSync(PLACE)) renameSync(PLACE, join(NEXT, 'former'));
  renameSync(DIST, PLACE);
  rmSync(NEXT, { recursive: true });
}

const assets = await writeAssets();
const eleventy = new Eleventy(join(HERE, 'templates'), DIST, {
  quietMode: true,
  configPath: false,
  config: (config: EleventyConfig) => {
    configure(config, assets);
    return {};
  },
});
await eleventy.write();
copyPictures();
writeMarkdown();
writeSearchIndex();
writeApiPage(DIST);
if (asked === undefined) putInPlace();
