import { useState, useSyncExternalStore } from 'react';
import {
  isLanguage,
  LANGUAGES,
  type Language,
  presentLanguage,
  speak,
  t,
  watchLanguage,
} from '../languages/text.ts';
import { readViews, renameColumns, withRenamed } from '../rules/saved-views.ts';

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

export type Theme = 'system' | 'light' | 'dark';

const THEME_PLACE = 'relata-theme';

const storedTheme = (): Theme => {
  const value = localStorage.getItem(THEME_PLACE);
  return value === 'light' || value === 'dark' ? value : 'system';
};

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Before the first picture, so that nothing flashes. */
export const applyStoredTheme = (): void => applyTheme(storedTheme());

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  return [
    theme,
    (next) => {
      localStorage.setItem(THEME_PLACE, next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}

/** Where a browser keeps the views and the columns of a project. */
export const viewsOf = (projectId: number) => `relata-views-${projectId}`;
export const columnsOf = (projectId: number) => `relata-columns-${projectId}`;

/** Views and columns that this browser keeps of a project follow the new name of an attribute. */
export function renameInBrowser(projectId: number, from: string, to: string): void {
  const views = readViews(localStorage.getItem(viewsOf(projectId)));
  localStorage.setItem(viewsOf(projectId), JSON.stringify(withRenamed(views, from, to)));
  const columns = localStorage.getItem(columnsOf(projectId));
  if (columns) localStorage.setItem(columnsOf(projectId), renameColumns(columns, from, to));
}
