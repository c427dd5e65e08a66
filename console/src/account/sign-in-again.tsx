import { useEffect } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { ErrorNote } from '../parts/page.tsx';
import { useSubmit } from '../state/act.ts';
import { askDevice, useSession } from '../state/session.tsx';

/** Over the page whose session has ended while something on it was not saved: nothing of it is lost. */
export function SignInAgain() {
  const { who, relata, isOver, goOn, leave } = useSession();
  const email = who?.kind === 'user' ? who.session.user.email : '';
  const { onSubmit, error, isBusy } = useSubmit(({ password = '' }) =>
    goOn(relata.session.signIn(email, password, askDevice)),
  );
  // A user who signed in in another tab goes on here.
  useEffect(() => {
    if (!isOver) return;
    // No session is the usual answer here, and the dialog that is open says so already.
    const look = () => void goOn(relata.session.get()).catch(() => undefined);
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, [isOver, goOn, relata]);
  if (who?.kind !== 'user') return null;
  const { user } = who.session;
  const stay = () => undefined;
  return (
    <Dialog title={t('Sign in again')} isOpen={isOver} onClose={stay} isFirm>
      <p>
        {t(
          'Your session has ended. What you have changed on this page is kept, and can be saved when you are back.',
        )}
      </p>
      <form className="stack" onSubmit={onSubmit}>
        {user.signsInWith === 'password' ? (
          <>
            <TextField label={t('E-mail')} type="email" value={user.email} readOnly autoComplete="username" />
            <TextField
              label={t('Password')}
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
          </>
        ) : (
          <p>
            {rich('<link>Sign in in another tab</link> as {email}, then come back.', {
              link: (words) => (
                <a href="/console/" target="_blank" rel="noopener">
                  {words}
                </a>
              ),
              email: user.email,
            })}
          </p>
        )}
        <ErrorNote error={error} />
        <div className="dialog-foot">
          <Button onClick={leave}>{t('Leave without saving')}</Button>
          {user.signsInWith === 'password' && (
            <Button type="submit" look="primary" busy={isBusy}>
              {t('Sign in')}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
