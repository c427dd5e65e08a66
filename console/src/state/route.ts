import type { RelationDefinition } from '@relata/client';
import { useMemo } from 'react';
import { createShared } from './shared.ts';
import { noteStep, startStep } from './steps.ts';

/**
 * The address of a view follows the `#`. One page therefore serves all views, and the service never sees the
 * address, which matters for links with a token.
 */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const current = createShared(read());

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

/** Keeps a truncated link from breaking the page. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Guard = () => Question | undefined;
let asksToLeave: Guard | undefined;

/** `question`: asked before the view is left, unless undefined. @returns a function that ends this */
export function guardLeaving(question: Guard): () => void {
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

/** Whether leaving the view would lose input. */
export const hasUnsaved = (): boolean => asksToLeave?.() !== undefined;

function stays(next: Route): boolean {
  const question = next.parts.join('/') === current.get().parts.join('/') ? undefined : asksToLeave?.();
  if (question === undefined) return false;
  const target = location.hash;
  void ask(question).then((isMeant) => {
    if (!isMeant) return;
    asksToLeave = undefined;
    goTo(target);
  });
  return true;
}

let address = location.hash;

addEventListener('hashchange', () => {
  const next = read();
  if (stays(next)) return startStep(address);
  noteStep();
  address = location.hash;
  current.set(next);
});

export const useRoute = (): Route => current.useRead((route) => route);

type Part = string | number;

/** @returns the address of a view: `linkTo('projects', 1, 'products')` */
export const linkTo = (...parts: Part[]): string =>
  `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;

/** @returns the address of a view in the current project: `projectLink('products')` */
export const projectLink = (...parts: Part[]): string =>
  linkTo('projects', current.get().parts[1] ?? '', ...parts);

/** @returns the link with a query, without empty values */
export function linkWith(link: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${link}?${new URLSearchParams(given)}` : link;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** @returns a function that leaves the current view for a link, unless the user has left it by then */
export function goFromHere(): (link: string) => void {
  const here = current.get().parts.join('/');
  return (link) => {
    if (current.get().parts.join('/') === here) goTo(link);
  };
}

/** Changes the address without a history entry. */
export function replaceWith(link: string): void {
  history.replaceState(history.state, '', link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Adds a history entry, and shows it at once. */
function stepTo(link: string): void {
  startStep(link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Typing without a pause of this length makes one history entry. */
const TYPING_MS = 1_000;
let typed = { in: '', at: 0 };

/**
 * The filters of a list, kept in the address of its view, so that they can be shared, survive a reload and
 * follow the back button.
 * @returns the filters, which are empty if not set, and two functions that change some of them: one for typing,
 * and one for a click, which always adds a history entry
 */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const { query } = useRoute();
  const texts = names.map((name) => query.get(name) ?? '');
  const filters = useMemo(
    () => Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ''])) as Record<Name, string>,
    // The names are the same in every render of a view.
    texts,
  );
  const linkFor = (changed: Partial<Record<Name, string>>) =>
    linkWith(linkTo(...current.get().parts), { ...filters, ...changed });
  const change = (changed: Partial<Record<Name, string>>) => {
    const view = linkTo(...current.get().parts);
    const isTyping = typed.in === view && Date.now() - typed.at < TYPING_MS;
    typed = { in: view, at: Date.now() };
    if (isTyping) return replaceWith(linkFor(changed));
    stepTo(linkFor(changed));
  };
  const step = (changed: Partial<Record<Name, string>>) => stepTo(linkFor(changed));
  return [filters, change, step] as const;
}

/** Passes a value to the next view that does not fit into an address. */
function createHandover<Thing>() {
  let given: Thing | undefined;
  return {
    give(thing: Thing): void {
      given = thing;
    },
    /** @returns the value once; later callers receive undefined */
    take(): Thing | undefined {
      const thing = given;
      given = undefined;
      return thing;
    },
  };
}

/** A file that was dropped on an empty project. */
export const droppedFile = createHandover<File>();
/** A relation that was suggested. */
export const draftedRelation = createHandover<RelationDefinition>();

/** A question before input is lost, or before an action that is rarely intended. */
export interface Question {
  readonly title: string;
  readonly words: string;
  /** The label of the button that confirms it. */
  readonly action: string;
}

interface Open extends Question {
  answer(isMeant: boolean): void;
}

const open = createShared<Open | undefined>(undefined);

/** @returns whether the user confirms; an earlier question that is still open counts as declined */
export function ask(question: Question): Promise<boolean> {
  open.get()?.answer(false);
  return new Promise((resolve) => {
    const answer = (isMeant: boolean) => {
      open.set(undefined);
      resolve(isMeant);
    };
    open.set({ ...question, answer });
  });
}

export const useQuestion = (): Open | undefined => open.useRead((question) => question);
