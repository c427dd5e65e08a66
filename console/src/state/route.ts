import type { RelationDefinition } from '@relata/client';
import { useMemo } from 'react';
import { createShared } from './shared.ts';
import { noteStep, startStep } from './steps.ts';

/**
 * A view's address stands behind the `#`: the service sees none of it, which matters for links that carry a token, and
 * one page answers for all of them.
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

/** A link that was cut short must not break the page. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Guard = () => Question | undefined;
let asksToLeave: Guard | undefined;

/** `question`: asked before the view is left; undefined: nothing. @returns what ends it */
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

/** Whether leaving the view would lose something. */
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

/** @returns the address of a view of the project that is shown: `projectLink('products')` */
export const projectLink = (...parts: Part[]): string =>
  linkTo('projects', current.get().parts[1] ?? '', ...parts);

/** @returns the same with a query; empty values are left out */
export function linkWith(link: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length > 0 ? `${link}?${new URLSearchParams(given)}` : link;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** @returns what goes on from the present view; a user who has left it by then stays there */
export function goFromHere(): (link: string) => void {
  const here = current.get().parts.join('/');
  return (link) => {
    if (current.get().parts.join('/') === here) goTo(link);
  };
}

/** Changes the address without a step in the history. */
export function replaceWith(link: string): void {
  history.replaceState(history.state, '', link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Adds a step to the history, and shows it at once. */
function stepTo(link: string): void {
  startStep(link);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** Typing without such a pause is one step of the history. */
const TYPING_MS = 1_000;
let typed = { in: '', at: 0 };

/**
 * What a list is narrowed by stands in the address of its view, so that it can be sent, survives a reload, and follows the
 * back button.
 * @returns the filters, empty where they are not set, what changes some of them while typing, and what does so by a click:
 * each is a step of the history
 */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const { query } = useRoute();
  const texts = names.map((name) => query.get(name) ?? '');
  const filters = useMemo(
    () => Object.fromEntries(names.map((name, at) => [name, texts[at] ?? ''])) as Record<Name, string>,
    // The names are the same ones in every picture of a view.
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

/** What one view gives the next one, and no address can carry. */
function createHandover<Thing>() {
  let given: Thing | undefined;
  return {
    give(thing: Thing): void {
      given = thing;
    },
    /** @returns it once: later callers get none */
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

/** Asked before something is lost or done that people seldom mean. */
export interface Question {
  readonly title: string;
  readonly words: string;
  /** What is done if it is meant. */
  readonly action: string;
}

interface Open extends Question {
  answer(isMeant: boolean): void;
}

const open = createShared<Open | undefined>(undefined);

/** @returns whether it is meant; an earlier question that is still open is not */
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
