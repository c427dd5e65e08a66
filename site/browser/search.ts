import MiniSearch, { type SearchResult } from 'minisearch';
import { type Found, SEARCH_OPTIONS } from '../search-options.ts';

/** The number of characters of a section that a hit shows, and the maximum of hits. */
const EXCERPT = 140;
const HITS = 12;

const box = document.querySelector<HTMLInputElement>('.search input');
const list = document.querySelector<HTMLElement>('.search [role=listbox]');
const { index = '', base = './' } = document.body.dataset;

let loading: Promise<MiniSearch<Found>> | undefined;

/** Loaded at the first search. */
function load(): Promise<MiniSearch<Found>> {
  loading ??= fetch(base + index)
    .then((answer) => answer.text())
    .then((text) => MiniSearch.loadJSON<Found>(text, SEARCH_OPTIONS));
  return loading;
}

type Hit = SearchResult & Found;

function excerpt({ text, terms }: Hit): string {
  const first = text.toLowerCase().indexOf(terms[0] ?? '');
  const from = Math.max(0, first - EXCERPT / 3);
  return `${from > 0 ? '…' : ''}${text.slice(from, from + EXCERPT)}${text.length > from + EXCERPT ? '…' : ''}`;
}

function showHit(hit: Hit, at: number): HTMLElement {
  const link = document.createElement('a');
  link.href = base + hit.id;
  link.id = `hit-${at}`;
  link.role = 'option';
  link.tabIndex = -1;
  const parts = [
    ['strong', hit.title],
    ['small', hit.page],
    ['span', excerpt(hit)],
  ] as const;
  link.append(
    ...parts.map(([tag, text]) => Object.assign(document.createElement(tag), { textContent: text })),
  );
  return link;
}

function choose(at: number): void {
  const links = [...(list?.querySelectorAll('a') ?? [])];
  const next = (at + links.length) % Math.max(1, links.length);
  for (const [place, link] of links.entries()) link.ariaSelected = String(place === next);
  links[next]?.scrollIntoView({ block: 'nearest' });
  box?.setAttribute('aria-activedescendant', `hit-${next}`);
}

const chosen = (): HTMLElement | null => list?.querySelector('a[aria-selected=true]') ?? null;
const place = (): number => [...(list?.children ?? [])].indexOf(chosen() as Element);

async function search(): Promise<void> {
  const asked = box?.value.trim() ?? '';
  const hits = asked === '' ? [] : ((await load()).search(asked) as Hit[]).slice(0, HITS);
  if (asked !== box?.value.trim()) return;
  const nothing = Object.assign(document.createElement('p'), { textContent: 'Nothing found.' });
  list?.replaceChildren(...(hits.length > 0 ? hits.map(showHit) : [nothing]));
  show(asked !== '');
  choose(0);
}

function show(isShown: boolean): void {
  if (list) list.hidden = !isShown;
  if (box) box.ariaExpanded = String(isShown);
}

const KEYS: Readonly<Record<string, () => void>> = {
  ArrowDown: () => choose(place() + 1),
  ArrowUp: () => choose(place() - 1),
  Enter: () => chosen()?.click(),
  Escape: () => show(false),
};

box?.addEventListener('focus', () => void load());
box?.addEventListener('input', () => void search());
box?.addEventListener('keydown', (event) => {
  const act = KEYS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element) || target.closest('.search') === null || target.closest('a')) show(false);
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey;
  if (event.key !== '/' || isTyping) return;
  event.preventDefault();
  box?.focus();
});
