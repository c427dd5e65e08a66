import { setupI18n } from '@lingui/core';
import { createElement, Fragment, type ReactNode } from 'react';
import { compileMessage } from './messages.ts';

/**
 * Languages by their own names. The source has the English texts. Other languages are data files and need no
 * code.
 */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;

export type Language = keyof typeof LANGUAGES;

export const isLanguage = (name: string): name is Language => Object.hasOwn(LANGUAGES, name);

const i18n = setupI18n({ locale: 'en', messages: { en: {} } });

const compiled = new Map<string, ReturnType<typeof compileMessage>>();

i18n.setMessagesCompiler((text) => {
  const message = compiled.get(text) ?? compileMessage(text);
  compiled.set(text, message);
  return message;
});

type Values = Readonly<Record<string, string | number | undefined>>;

/**
 * A text of the console in the chosen language. Call it while rendering. A text that is translated while a file
 * loads would stay in the language of the start.
 * @param text in English, as an ICU message: `{count, plural, one {# product} other {# products}}`
 */
export function t(text: string, values: Values = {}): string {
  // @lingui/core would read `\x41` in an inserted value as a letter.
  const given = Object.entries(values).map(([name, value]) => [name, keepBackslash(value ?? '')]);
  return i18n._(text, Object.fromEntries(given));
}

const keepBackslash = (value: string | number) =>
  typeof value === 'string' ? value.replaceAll('\\', '\\x5c') : value;

type Frame = (words: ReactNode) => ReactNode;

/** How each tag in a text is rendered. The caller of `rich` passes the address of a `link`. */
const FRAMES: Readonly<Record<string, Frame>> = {
  b: (words) => createElement('b', null, words),
  code: (words) => createElement('code', null, words),
};

/** A text with elements in it or around a part: `Listed by {name}`, `Go to the <link>overview</link>`. */
export function rich(text: string, parts: Readonly<Record<string, ReactNode | Frame>> = {}): ReactNode {
  const nodes: ReactNode[] = [];
  const values: Record<string, string | number> = {};
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part === 'function') continue;
    // Numbers and plain words can select a form of the text. Other values are inserted after the tags are
    // parsed.
    const isPlain = typeof part === 'number' || (typeof part === 'string' && /^\w*$/.test(part));
    values[name] = isPlain ? part : `\0${nodes.push(part) - 1}\0`;
  }
  return draw(t(text, values), { parts, nodes });
}

const MARKED = /<(\w+)>(.*?)<\/\1>|\0(\d+)\0/gs;

interface Given {
  readonly parts: Readonly<Record<string, ReactNode | Frame>>;
  readonly nodes: readonly ReactNode[];
}

function draw(text: string, given: Given): ReactNode[] {
  const drawn: ReactNode[] = [];
  let last = 0;
  for (const { 0: all, 1: tag, 2: inner = '', 3: nodeIndex, index } of text.matchAll(MARKED)) {
    const node = tag === undefined ? given.nodes[Number(nodeIndex)] : frame(tag, draw(inner, given), given);
    drawn.push(text.slice(last, index), node);
    last = index + all.length;
  }
  drawn.push(text.slice(last));
  return drawn.map((node, index) => createElement(Fragment, { key: index }, node));
}

function frame(tag: string, words: ReactNode, { parts }: Given): ReactNode {
  const part = parts[tag] ?? FRAMES[tag];
  return typeof part === 'function' ? part(words) : createElement('a', { href: part as string }, words);
}

export const presentLanguage = (): Language => i18n.locale as Language;

const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' };

/** The locale in which the console requests sentences from the service. */
export const presentLocale = (): string => LOCALES[presentLanguage()];

/** @returns a function that stops watching */
export const watchLanguage = (changed: () => void): (() => void) => i18n.on('change', changed);

/** @throws the browser's error when the texts of a language cannot be loaded */
export async function speak(language: Language): Promise<void> {
  if (language === 'de')
    i18n.load('de', { ...(await import('./de.json', { with: { type: 'json' } })).default });
  i18n.activate(language);
}
