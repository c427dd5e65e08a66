import { useEffect, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { useAsked } from '../state/project.ts';
import { useRelata, useSession } from '../state/session.tsx';

/**
 * The query with which the browser came back from the company's provider, taken out of the address at once: what it holds
 * is good once, and need not stay in the history.
 */
let returned = takeReturned();

function takeReturned(): string | undefined {
  const query = new URLSearchParams(location.search);
  if (!query.has('state') || !(query.has('code') || query.has('error'))) return undefined;
  history.replaceState(history.state, '', location.pathname + location.hash);
  return query.toString();
}

interface Shape {
  onError(error: unknown): void;
}

/** Signs in with the company's account, where there is one. */
export function CompanyAccount({ onError }: Shape) {
  const relata = useRelata();
  const { accept } = useSession();
  const [isBusy, setBusy] = useState(returned !== undefined);
  const ways = useAsked(['ways'], ({ signal }) => relata.session.findWays({ signal }));
  const fail = (error: unknown) => {
    onError(error);
    setBusy(false);
  };
  useEffect(() => {
    const query = returned;
    returned = undefined;
    if (query !== undefined) accept((client) => client.session.finishCompanyAccount(query)).catch(fail);
  });
  const name = ways.data?.companyAccount?.name;
  if (name === undefined) return null;
  const start = () => {
    setBusy(true);
    onError(undefined);
    relata.session.startCompanyAccount().then((url) => location.assign(url), fail);
  };
  return (
    <Button look="primary" busy={isBusy} onClick={start}>
      {t('Sign in with {name}', { name })}
    </Button>
  );
}
