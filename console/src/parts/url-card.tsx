import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { tell } from '../state/done.ts';
import { useRights } from '../state/session.tsx';
import { DialogButton } from './dialog.tsx';
import { Card } from './page.tsx';
import { Code } from './show.tsx';

interface UrlShape {
  title: string;
  /** Whose URL it is. */
  of: 'webhook' | 'channel';
  url: string;
  /** What happens to the present one. */
  warning: string;
  renew(): Promise<unknown>;
  children: ReactNode;
}

/** An address that is enough by itself; another one can take its place. */
export function UrlCard({ title, of, url, warning, renew, children }: UrlShape) {
  const { canChange } = useRights();
  const submit = async () => {
    await renew();
    tell.good(t('The {of} has a new URL', { of }));
  };
  return (
    <Card
      title={title}
      actions={
        canChange && (
          <DialogButton
            words={t('New URL …')}
            title={t('Change the URL of the {of}', { of })}
            action={t('Create a new URL')}
            isDanger
            onSubmit={submit}
          >
            <p>{warning}</p>
          </DialogButton>
        )
      }
    >
      {children}
      <Code label={t('The URL of the {of}', { of })} text={url} />
    </Card>
  );
}
