import { RelataError } from '@relata/client';
import { createContext, useContext } from 'react';

export const MistakesContext = createContext<readonly string[]>([]);

/** @returns the mistakes that a refusal names with their places */
export const readMistakes = (error: unknown): readonly string[] =>
  error instanceof RelataError ? error.details : [];

/** @returns what tells a field, by its place in what was sent, why it was refused */
export function useMistake(): (place: string) => string | undefined {
  const details = useContext(MistakesContext);
  return (place) => mistakeAt(details, place);
}

/** @returns what a refusal says of the place or of what is in it, as `/trigger/cron` */
export function mistakeAt(details: readonly string[], place: string): string | undefined {
  const found = details.filter((detail) => detail.startsWith(`${place}:`) || detail.startsWith(`${place}/`));
  return found.map((detail) => detail.slice(detail.indexOf(': ') + 2)).join('; ') || undefined;
}
