import { Toast } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { notices } from '../state/done.ts';
import { IconButton } from './button.tsx';

/** Notices that come and go in a corner. */
export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider timeout={6000} toastManager={notices}>
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
