import { lazy, Suspense, useState } from 'react';
import { t } from '../languages/text.ts';
import { listPageCalls, needsRelations } from '../rules/page-calls.ts';
import { useRoute } from '../state/route.ts';
import { IconButton } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { loadFile } from './safe.tsx';

const Samples = lazy(async () => ({
  default: (await loadFile(() => import('./call-samples.tsx'))).CallSamples,
}));

/** This page as a call: what a program asks to get what it shows. */
export function PageCallButton() {
  const route = useRoute();
  const [isOpen, setOpen] = useState(false);
  if (!needsRelations(route) && listPageCalls(route).length === 0) return null;
  return (
    <>
      <IconButton icon="code" label={t('This page as a call')} onClick={() => setOpen(true)} />
      <Dialog title={t('This page as a call')} isWide isOpen={isOpen} onClose={() => setOpen(false)}>
        <Suspense fallback={null}>
          <Samples />
        </Suspense>
      </Dialog>
    </>
  );
}
