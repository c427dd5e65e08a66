import { Toast } from '@base-ui/react/toast';
import { UnreachableError } from '@relata/client';
import { t } from '../languages/text.ts';
import { describeRefusal, listDetails } from './mistakes.ts';
import { reread } from './queries.ts';

/** Long enough to notice a mistake, and to reach the button. */
const UNDO_MS = 12_000;

/** The notices in the corner. */
export const notices = Toast.createToastManager();

/** Reports that something was done, or that it failed. */
export const tell = {
  bad: (error: unknown) =>
    void notices.add({
      title: describeRefusal(error),
      description: listDetails(error).join(' ') || undefined,
      type: 'bad',
      priority: 'high',
    }),
  good: (title: string, description?: string) => void notices.add({ title, description, type: 'good' }),
  /** Offers to undo for some seconds; if the network fails, undoing can be tried again. */
  undoable(title: string, undo: () => Promise<unknown>, description?: string): void {
    const onClick = () => {
      notices.close(id);
      undo().catch((error: unknown) => {
        tell.bad(error);
        if (error instanceof UnreachableError) tell.undoable(title, undo, description);
      });
    };
    const id = notices.add({
      title,
      description,
      type: 'good',
      timeout: UNDO_MS,
      actionProps: { children: t('Undo'), onClick },
    });
  },
};

/** Reloads the views when something is done; a failure is reported. */
export const afterwards = (doing: Promise<unknown>, ...names: readonly string[]): void =>
  void doing.then(() => reread(...names), tell.bad);
