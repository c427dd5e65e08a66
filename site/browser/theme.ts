/** Runs before the first paint, so that nothing flashes. The console stores its choice under the same name. */
const PLACE = 'relata-theme';
const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const;

type Theme = keyof typeof NEXT;

const stored = (): Theme => {
  const value = localStorage.getItem(PLACE);
  return value === 'light' || value === 'dark' ? value : 'system';
};

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const choice = document.querySelector('.theme span:last-child');
  if (choice) choice.textContent = theme === 'system' ? 'Auto' : theme === 'light' ? 'Light' : 'Dark';
}

apply(stored());

document.addEventListener('DOMContentLoaded', () => {
  apply(stored());
  document.querySelector('.theme')?.addEventListener('click', () => {
    const next = NEXT[stored()];
    localStorage.setItem(PLACE, next);
    apply(next);
  });
});
