import { setupI18n } from '@lingui/core';
import { compileMessage } from './messages.ts';

/** Each by its own name. English is what the source says; another one is a file of data, of which translators need no code. */
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
 * A text of the console in the language that is chosen. Called when something is drawn, never while a file is loaded: there
 * it would keep the language of the start.
 * @param text in English, as a message of ICU: `{count, plural, one {# product} other {# products}}`
 */
export function t(text: string, values: Values = {}): string {
  // Of what it puts in, @lingui/core would read `\x41` as a letter.
  const given = Object.entries(values).map(([name, value]) => [name, keepBackslash(value ?? '')]);
  return i18n._(text, Object.fromEntries(given));
}

const keepBackslash = (value: string | number) =>
  typeof value === 'string' ? value.replaceAll('\\', '\\x5c') : value;

export const presentLanguage = (): Language => i18n.locale as Language;

/** @returns what ends it */
export const watchLanguage = (changed: () => void): (() => void) => i18n.on('change', changed);

/** @throws what the browser says where the texts of a language do not arrive */
export async function speak(language: Language): Promise<void> {
  if (language === 'de')
    i18n.load('de', { ...(await import('./de.json', { with: { type: 'json' } })).default });
  i18n.activate(language);
}
