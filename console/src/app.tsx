import { useEffect, useRef } from 'react';
import { Invitation, SignIn, SignInAgain, Welcome } from './account/sign-in.tsx';
import { Safe } from './parts/page.tsx';
import { AppShell } from './parts/shell/app-shell.tsx';
import { findScreen, ProjectScreen } from './screens.tsx';
import { useRoute } from './state/route.ts';
import { useSession } from './state/session.tsx';
import { restorePlace } from './state/steps.ts';

export function App() {
  const { who } = useSession();
  const { parts } = useRoute();
  const [first, token = ''] = parts;
  if (first === 'welcome') return <Welcome token={token} />;
  if (first === 'invitation') return <Invitation token={token} />;
  if (who === undefined) return null;
  if (who === null) return <SignIn />;
  return (
    <AppShell>
      <Safe place={parts.join('/')}>
        <Screen />
      </Safe>
      <SignInAgain />
    </AppShell>
  );
}

function Screen() {
  const { parts } = useRoute();
  const isFirst = useRef(true);
  const place = parts.join('/');
  // A new view begins at its top, for screen readers too; a view that the user returns to, where it was.
  useEffect(() => {
    if (!isFirst.current && place !== undefined)
      document.getElementById('main')?.focus({ preventScroll: true });
    isFirst.current = false;
    return restorePlace();
  }, [place]);
  const [first, id, ...rest] = parts;
  if (first === 'projects' && id !== undefined && id !== 'new') {
    return <ProjectScreen key={id} id={Number(id)} parts={rest} />;
  }
  const View = findScreen(first ?? '');
  return <View />;
}
