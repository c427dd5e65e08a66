import { Toast } from '@base-ui/react/toast';
import { RelataError, UnreachableError } from '@relata/client';
import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { readDetail, sayRefusal } from '../state/mistakes.ts';
import { IconButton } from './button.tsx';

/** As long as it takes to see what one has done, and to reach the button. */
const UNDO_MS = 12_000;

/** Notices that come and go in a corner. */
export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider timeout={6000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <div>
        <Toast.Title className="toast-title" render={<p />} />
        <Toast.Description className="soft small" render={<p />} />
        {toast.actionProps && <Toast.Action className="button" />}
      </div>
      <Toast.Close render={<IconButton icon="cross" label={t('Dismiss')} />} />
    </Toast.Root>
  ));
}

/** @returns what tells of something done, or of something that failed */
export function useTell() {
  const { add, close } = Toast.useToastManager();
  const bad = (error: unknown) =>
    void add({
      title: sayRefusal(error),
      description: error instanceof RelataError ? error.details.map(readDetail).join(', ') : undefined,
      type: 'bad',
      priority: 'high',
    });
  return {
    bad,
    good: (title: string, description?: string) => void add({ title, description, type: 'good' }),
    /** For some seconds it can be taken back; what the network cut can be tried again. */
    undoable(title: string, undo: () => Promise<unknown>, description?: string) {
      const offer = () => {
        const onClick = () => {
          close(id);
          undo().catch((error: unknown) => {
            bad(error);
            if (error instanceof UnreachableError) offer();
          });
        };
        const id = add({
          ...{ title, description, type: 'good', timeout: UNDO_MS },
          actionProps: { children: t('Undo'), onClick },
        });
      };
      offer();
    },
  };
}
