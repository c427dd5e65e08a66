import { lazy, Suspense, useState } from 'react';
import { t } from '../languages/text.ts';
import { IconButton } from '../parts/button.tsx';
import { Dialog, loadFile } from '../parts/page.tsx';
import { useRoute } from '../state/route.ts';
import { hasPageCalls } from './paged.ts';

const Samples = lazy(async () => ({
  default: (await loadFile(() => import('./call-samples.tsx'))).CallSamples,
}));

/** Shows this page as a call: the request with which a program gets the same data. */
export function PageCallButton() {
  const route = useRoute();
  const [isOpen, setOpen] = useState(false);
  if (!hasPageCalls(route)) return null;
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
