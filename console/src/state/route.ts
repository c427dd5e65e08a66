import { useSyncExternalStore } from 'react';

/**
 * A view's address stands behind the `#`: the service sees none of it, which matters for links that carry a token, and
 * one page answers for all of them.
 */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

let current = read();

function read(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return {
    parts: path
      .split('/')
      .filter((part) => part !== '')
      .map(decode),
    query: new URLSearchParams(query),
  };
}

/** A link that somebody cut short must not break the page. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Question = () => string | undefined;
let asksToLeave: Question | undefined;

/** `question`: what somebody is asked who leaves the view; undefined: nothing. @returns what ends it */
export function guardLeaving(question: Question): () => void {
  const onUnload = (event: BeforeUnloadEvent) => {
    if (question() !== undefined) event.preventDefault();
  };
  addEventListener('beforeunload', onUnload);
  asksToLeave = question;
  return () => {
    removeEventListener('beforeunload', onUnload);
    if (asksToLeave === question) asksToLeave = undefined;
  };
}

/** @returns whether somebody stays after all */
function stays(next: Route): boolean {
  if (next.parts.join('/') === current.parts.join('/')) return false;
  const question = asksToLeave?.();
  return question !== undefined && !confirm(question);
}

let address = location.hash;
const watchers = new Set<() => void>();

addEventListener('hashchange', () => {
  const next = read();
  if (stays(next)) return history.pushState(null, '', address);
  address = location.hash;
  current = next;
  for (const changed of watchers) changed();
});

function subscribe(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

export const useRoute = (): Route => useSyncExternalStore(subscribe, () => current);

type Part = string | number;

/** @returns the address of a view: `linkTo('projects', 1, 'products')` */
export const linkTo = (...parts: Part[]): string =>
  `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;

/** @returns the same with a query; empty values are left out */
export function linkWith(link: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${link}?${new URLSearchParams(given)}` : link;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** Changes the address without a step in the history: for filters that follow the typing. */
export function replaceWith(link: string): void {
  history.replaceState(null, '', link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}
