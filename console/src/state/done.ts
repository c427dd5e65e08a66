import { Toast } from '@base-ui/react/toast';
import { RelataError, UnreachableError } from '@relata/client';
import { QueryClient } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { readDetail, sayRefusal } from './mistakes.ts';

/** What follows something done: it is told, and what shows it is read anew. */

/** The client repeats what may succeed a moment later; what it throws is worth showing. */
export const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000 } },
});

/** Has read anew what was read by these names, or, without one, all. */
export const reread = (...names: readonly string[]): Promise<unknown> =>
  names.length === 0
    ? queries.invalidateQueries()
    : Promise.all(names.map((name) => queries.invalidateQueries({ queryKey: [name] })));

/** Once something is done, has read anew what shows it; what failed is told. */
export const afterwards = (doing: Promise<unknown>, ...names: readonly string[]): void =>
  void doing.then(() => reread(...names), tell.bad);

/** As long as it takes to see what one has done, and to reach the button. */
const UNDO_MS = 12_000;

/** What stands in the corner. */
export const notices = Toast.createToastManager();

/** Tells of something done, or of something that failed. */
export const tell = {
  bad: (error: unknown) =>
    void notices.add({
      title: sayRefusal(error),
      description: error instanceof RelataError ? error.details.map(readDetail).join(', ') : undefined,
      type: 'bad',
      priority: 'high',
    }),
  good: (title: string, description?: string) => void notices.add({ title, description, type: 'good' }),
  /** For some seconds it can be taken back; what the network cut can be tried again. */
  undoable(title: string, undo: () => Promise<unknown>, description?: string): void {
    const onClick = () => {
      notices.close(id);
      undo().catch((error: unknown) => {
        tell.bad(error);
        if (error instanceof UnreachableError) tell.undoable(title, undo, description);
      });
    };
    const id = notices.add({
      ...{ title, description, type: 'good', timeout: UNDO_MS },
      actionProps: { children: t('Undo'), onClick },
    });
  },
};
