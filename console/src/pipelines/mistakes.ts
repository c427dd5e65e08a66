import { RelataError } from '@relata/client';
import { createContext, useContext } from 'react';
import { mistakeAt } from './pipeline-draft.ts';

export const MistakesContext = createContext<readonly string[]>([]);

/** @returns the mistakes that a refusal names with their places */
export const readMistakes = (error: unknown): readonly string[] =>
  error instanceof RelataError ? error.details : [];

/** @returns what tells a field, by its place in what was sent, why it was refused */
export function useMistake(): (place: string) => string | undefined {
  const details = useContext(MistakesContext);
  return (place) => mistakeAt(details, place);
}
