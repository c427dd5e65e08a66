import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { ListPage } from '../parts/list-page.tsx';
import { reaches, Scope } from '../parts/scope.tsx';
import { useAsked, useProject } from '../state/project.ts';
import { projectLink } from '../state/route.ts';
import { useRights } from '../state/session.tsx';
import { EndpointForm, EndpointState, NewSecret } from './endpoint-form.tsx';

const LOOK_MS = 10_000;

/** The endpoints that hear of this project: its own, those of its group and of the account. */
export function Events() {
  const project = useProject();
  const { canChange } = useRights();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const endpoints = useAsked(
    ['webhook-endpoints'],
    async ({ relata, signal }) => (await relata.webhookEndpoints.list({ limit: 1000, signal })).items,
    {
      select: (all) => all.filter(({ scope }) => reaches(scope, project)),
      refetchInterval: LOOK_MS,
    },
  );
  const create = canChange && (
    <Button icon="plus" look="primary" onClick={() => setCreating(true)}>
      {t('New endpoint')}
    </Button>
  );
  return (
    <ListPage
      title={t('Events')}
      about={t(
        'Other systems are told what happens: signed requests, in order, repeated until they are received.',
      )}
      icon="events"
      list={endpoints}
      empty={t('No system is told what happens yet')}
      hint={t('Create an endpoint for each system that should hear of changes.')}
      create={create}
      above={<NewSecret secret={secret} onDone={() => setSecret(undefined)} />}
      columns={[
        [t('Endpoint'), (endpoint) => <a href={projectLink('events', endpoint.id)}>{endpoint.url}</a>],
        [t('Gets events of'), (endpoint) => <Scope scope={endpoint.scope} />],
        [t('Events'), (endpoint) => endpoint.events.join(', '), 'wide-only soft'],
        [t('State'), (endpoint) => <EndpointState endpoint={endpoint} />],
      ]}
    >
      <EndpointForm isOpen={isCreating} onClose={() => setCreating(false)} onMade={setSecret} />
    </ListPage>
  );
}
