import type { WebhookEndpoint } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Menu } from '../parts/menu.tsx';
import { Ago } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { EndpointForm } from './endpoint-form.tsx';

/** As long as the former secret may sign too. Source: docs/interface.md §6.1 rule 5. */
const listOverlaps = () =>
  [
    ['0', t('Ends at once')],
    ['3600', t('Signs for another hour')],
    ['86400', t('Signs for another day')],
    ['604800', t('Signs for another 7 days')],
  ] as const;

/** Whether an endpoint gets its events, and why not. */
export function EndpointState({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { enabled, switchedOff, failingSince } = endpoint;
  if (!enabled)
    return (
      <>
        <span className="badge bad">{t('off')}</span>{' '}
        {switchedOff && (
          <span className="soft small">
            {switchedOff.reason}, <Ago at={switchedOff.at} />
          </span>
        )}
      </>
    );
  if (failingSince === null) return <span className="badge good">{t('on')}</span>;
  return (
    <span className="badge warn">{rich('failing since {when}', { when: <Ago at={failingSince} /> })}</span>
  );
}

export function EndpointMenu({
  endpoint,
  onRotated,
}: {
  endpoint: WebhookEndpoint;
  onRotated(secret: string | undefined): void;
}) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const tell = useTell();
  const [open, setOpen] = useState<'change' | 'rotate' | 'delete'>();
  const [overlap, setOverlap] = useState<string>('86400');
  const reread = () => queries.invalidateQueries({ queryKey: ['webhook-endpoints'] });
  const close = () => setOpen(undefined);
  const turn = () =>
    relata.webhookEndpoints.change(endpoint.id, { enabled: !endpoint.enabled }).then(reread, tell.bad);
  const rotate = async () => {
    onRotated((await relata.webhookEndpoints.rotateSecret(endpoint.id, Number(overlap))).secret);
    await reread();
  };
  const remove = async () => {
    await relata.webhookEndpoints.delete(endpoint.id);
    goTo(linkTo('projects', project.id, 'events'));
    await reread();
  };
  return (
    <>
      <Menu
        label={t('What can be done with the endpoint')}
        entries={[
          { words: t('Change …'), onSelect: () => setOpen('change') },
          { words: endpoint.enabled ? t('Switch off') : t('Switch on'), onSelect: () => void turn() },
          { words: t('Rotate the secret …'), onSelect: () => setOpen('rotate') },
          { words: t('Delete …'), isDanger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      <EndpointForm endpoint={endpoint} isOpen={open === 'change'} onClose={close} />
      <FormDialog
        title={t('Rotate the secret')}
        action={t('Rotate')}
        isOpen={open === 'rotate'}
        onClose={close}
        onSubmit={rotate}
      >
        <SelectField
          label={t('The former secret')}
          choices={listOverlaps()}
          value={overlap}
          onChange={(event) => setOverlap(event.target.value)}
        />
      </FormDialog>
      <FormDialog
        title={t('Delete the endpoint')}
        action={t('Delete the endpoint')}
        isDanger
        isOpen={open === 'delete'}
        onClose={close}
        onSubmit={remove}
      >
        <p>{t('Its deliveries are deleted too, also those that wait.')}</p>
      </FormDialog>
    </>
  );
}
