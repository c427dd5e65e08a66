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

/** @returns the browser's first language that the console supports */
const guess = (): Language =>
  navigator.languages.map((name) => name.slice(0, 2)).find((name) => isLanguage(name)) ?? 'en';

async function apply(choice: LanguageChoice): Promise<void> {
  await speak(choice === 'auto' ? guess() : choice);
  document.documentElement.lang = presentLanguage();
}

/** Runs before the first paint. If the texts cannot be loaded, the console is in English. */
export const applyStoredLanguage = (): Promise<void> => apply(stored()).catch(() => undefined);

/** For texts that are not redrawn with the page. */
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

/** @returns the same choice in the navigation and in the drawer, wherever it was made */
export const useLanguageChoice = () => [useSyncExternalStore(watchLanguage, stored), choose] as const;

/** Languages by their own names. */
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

/** Runs before the first paint, so that nothing flashes. */
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

/** The storage keys of a project's views and columns. */
export const viewsOf = (projectId: number) => `relata-views-${projectId}`;
export const columnsOf = (projectId: number) => `relata-columns-${projectId}`;

/** Renames an attribute in the views and columns that this browser stores for a project. */
export function renameInBrowser(projectId: number, from: string, to: string): void {
  const views = readViews(localStorage.getItem(viewsOf(projectId)));
  localStorage.setItem(viewsOf(projectId), JSON.stringify(withRenamed(views, from, to)));
  const columns = localStorage.getItem(columnsOf(projectId));
  if (columns) localStorage.setItem(columnsOf(projectId), renameColumns(columns, from, to));
}
