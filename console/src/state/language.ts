import { useSyncExternalStore } from 'react';
import {
  isLanguage,
  LANGUAGES,
  type Language,
  presentLanguage,
  speak,
  t,
  watchLanguage,
} from '../languages/text.ts';

export type LanguageChoice = Language | 'auto';

const PLACE = 'relata-language';

const stored = (): LanguageChoice => {
  const value = localStorage.getItem(PLACE) ?? '';
  return isLanguage(value) ? value : 'auto';
};

/** @returns the first language of the browser that the console speaks */
const guess = (): Language =>
  navigator.languages.map((name) => name.slice(0, 2)).find((name) => isLanguage(name)) ?? 'en';

async function apply(choice: LanguageChoice): Promise<void> {
  await speak(choice === 'auto' ? guess() : choice);
  document.documentElement.lang = presentLanguage();
}

/** Before the first picture. Where the texts do not arrive, the console is there in English. */
export const applyStoredLanguage = (): Promise<void> => apply(stored()).catch(() => undefined);

/** For texts outside of what is drawn anew with the page. */
export const useLanguage = (): Language => useSyncExternalStore(watchLanguage, presentLanguage);

async function choose(next: LanguageChoice): Promise<void> {
  const before = stored();
  localStorage.setItem(PLACE, next);
  try {
    await apply(next);
  } catch (error) {
    localStorage.setItem(PLACE, before);
    throw error;
  }
}

/** @returns the same in the navigation and in the drawer, whichever it was chosen in */
export const useLanguageChoice = () => [useSyncExternalStore(watchLanguage, stored), choose] as const;

/** Each by its own name. */
export const listLanguages = () =>
  [['auto', t('Language of the browser')], ...Object.entries(LANGUAGES)] as (readonly [
    LanguageChoice,
    string,
  ])[];
