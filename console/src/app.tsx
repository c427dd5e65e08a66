import { useEffect, useRef } from 'react';
import { Invitation, SignIn, SignInAgain, Welcome } from './account/sign-in.tsx';
import { Safe } from './parts/page.tsx';
import { AppShell } from './parts/shell/app-shell.tsx';
import { findScreen, ProjectScreen } from './screens.tsx';
import { useRoute } from './state/route.ts';
import { useSession } from './state/session.tsx';
import { restorePlace } from './state/steps.ts';

export function App() {
  const { caller: user } = useSession();
  const { parts } = useRoute();
  const [first, token = ''] = parts;
  if (first === 'welcome') return <Welcome token={token} />;
  if (first === 'invitation') return <Invitation token={token} />;
  if (user === undefined) return null;
  if (user === null) return <SignIn />;
  return (
    <AppShell>
      <Safe address={parts.join('/')}>
        <Screen />
      </Safe>
      <SignInAgain />
    </AppShell>
  );
}

function Screen() {
  const { parts } = useRoute();
  const isFirst = useRef(true);
  const path = parts.join('/');
  // A new view starts at its top, also for screen readers. A view that the user returns to starts at its former
  // position.
  useEffect(() => {
    if (!isFirst.current && path !== undefined)
      document.getElementById('main')?.focus({ preventScroll: true });
    isFirst.current = false;
    return restorePlace();
  }, [path]);
  const [first, id, ...rest] = parts;
  if (first === 'projects' && id !== undefined && id !== 'new') {
    return <ProjectScreen key={id} id={Number(id)} parts={rest} />;
  }
  const View = findScreen(first ?? '');
  return <View />;
}
