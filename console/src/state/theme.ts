import { useState } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const PLACE = 'relata-theme';

const stored = (): Theme => {
  const value = localStorage.getItem(PLACE);
  return value === 'light' || value === 'dark' ? value : 'system';
};

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Before the first picture, so that nothing flashes. */
export const applyStoredTheme = (): void => apply(stored());

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored);
  return [
    theme,
    (next) => {
      localStorage.setItem(PLACE, next);
      apply(next);
      setTheme(next);
    },
  ];
}
