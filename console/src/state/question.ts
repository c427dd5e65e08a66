import { createShared } from './shared.ts';

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

const open = createShared<Open | undefined>(undefined);

/** @returns whether it is meant; an earlier question that is still open is not */
export function ask(question: Question): Promise<boolean> {
  open.get()?.answer(false);
  return new Promise((resolve) => {
    const answer = (isMeant: boolean) => {
      open.set(undefined);
      resolve(isMeant);
    };
    open.set({ ...question, answer });
  });
}

export const useQuestion = (): Open | undefined => open.useRead((question) => question);
