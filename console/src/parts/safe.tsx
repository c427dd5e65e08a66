import { Component, type ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { Button } from './button.tsx';
import { Card, Empty, Page } from './page.tsx';

interface Shape {
  /** Another one is tried anew. */
  place: string;
  children: ReactNode;
}

/** What fails in a view takes neither the others nor the way to them along. */
export class Safe extends Component<Shape, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ place }: Shape) {
    if (place !== this.props.place && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Page title={t('This page cannot be shown')}>
        <Card>
          <Empty icon="link" title={t('A part of the console did not arrive')}>
            <p>{t('The service may be away, or it may just have been updated.')}</p>
            <Button look="primary" onClick={() => location.reload()}>
              {t('Try again')}
            </Button>
          </Empty>
        </Card>
      </Page>
    );
  }
}

const RELOADED = 'relata-reloaded-at';
const RELOAD_PAUSE_MS = 60_000;

/**
 * @returns the file of a view. One that is gone belongs to a console that an update replaced: the page is loaded anew
 * @throws what the browser says, when the service is away or the page was loaded anew just before
 */
export async function loadFile<File>(file: () => Promise<File>): Promise<File> {
  try {
    return await file();
  } catch (error) {
    const reloadedAt = Number(sessionStorage.getItem(RELOADED));
    // Without a connection a reload would lose the page that is there.
    const isReached = await fetch(location.pathname, { method: 'HEAD' }).catch(() => undefined);
    if (!isReached?.ok || Date.now() - reloadedAt < RELOAD_PAUSE_MS) throw error;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
    return new Promise(() => {});
  }
}
