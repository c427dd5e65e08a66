import { useSyncExternalStore } from 'react';

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

let open: Open | undefined;
const watchers = new Set<() => void>();
const set = (next: Open | undefined) => {
  open = next;
  for (const changed of watchers) changed();
};

/** @returns whether it is meant; an earlier question that is still open is not */
export function ask(question: Question): Promise<boolean> {
  open?.answer(false);
  return new Promise((resolve) => {
    const answer = (isMeant: boolean) => {
      set(undefined);
      resolve(isMeant);
    };
    set({ ...question, answer });
  });
}

const watch = (changed: () => void) => {
  watchers.add(changed);
  return () => void watchers.delete(changed);
};

export const useQuestion = (): Open | undefined => useSyncExternalStore(watch, () => open);
