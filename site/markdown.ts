import { type Link, type Page, resolveLink } from './pages.ts';

/** The part of a markdown-it token that is used here. */
interface Token {
  readonly type: string;
  tag: string;
  attrs: [string, string][] | null;
  content: string;
  readonly children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

/** The part of markdown-it that is used here. */
export interface Markdown {
  readonly core: {
    readonly ruler: { push(name: string, rule: (state: { tokens: Token[]; env: Env }) => void): void };
  };
}

/** Eleventy passes the data of a page. */
interface Env {
  readonly self: Page;
}

/** Gives headings the ids that GitHub gives them, and makes links between files links between pages. */
export function adaptMarkdown(markdown: Markdown, pages: readonly Page[]): void {
  markdown.core.ruler.push('relata_headings', ({ tokens }) => nameHeadings(tokens));
  markdown.core.ruler.push('relata_links', ({ tokens, env }) => {
    for (const { children } of tokens)
      adaptLinks(children ?? [], (href) => resolveLink(env.self, href, pages));
  });
  markdown.core.ruler.push('relata_tables', ({ tokens }) => adaptTables(tokens));
}

function adaptTables(tokens: readonly Token[]): void {
  for (const [at, token] of tokens.entries()) {
    // The policy of the pages does not allow a style in an attribute.
    if (/^t[hd]$/.test(token.tag)) token.attrs = null;
    const isEmptyHeading = token.type === 'th_open' && tokens[at + 1]?.content === '';
    const end = tokens[at + 2];
    if (isEmptyHeading && end) [token.tag, end.tag] = ['td', 'td'];
  }
}

function nameHeadings(tokens: readonly Token[]): void {
  const taken = new Map<string, number>();
  for (const [at, token] of tokens.entries()) {
    if (token.type !== 'heading_open') continue;
    const id = headingId(tokens[at + 1]?.content ?? '');
    const times = taken.get(id) ?? 0;
    taken.set(id, times + 1);
    token.attrSet('id', times === 0 ? id : `${id}-${times}`);
  }
}

/** The id that GitHub gives a heading. */
export const headingId = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

/** A link to something that the site does not have stays text, because it is a file of the repository. */
function adaptLinks(tokens: readonly Token[], resolve: (href: string) => Link | undefined): void {
  const open: (Link | undefined)[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'link_open') {
      const link = resolve(token.attrGet('href') ?? '');
      open.push(link);
      if (link === undefined) [token.tag, token.attrs] = ['span', null];
      else leadTo(link, token, tokens[at + 1]);
    } else if (token.type === 'link_close' && open.pop() === undefined) token.tag = 'span';
  }
}

/** `[backup.md](backup.md)` is shown with the title of that page. */
function leadTo({ href, title }: Link, token: Token, text: Token | undefined): void {
  token.attrSet('href', href);
  if (text !== undefined && title !== undefined && /^[\w/.-]+\.md$/.test(text.content)) text.content = title;
}
