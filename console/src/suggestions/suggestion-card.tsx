import type { Suggestion } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { useRefresh } from '../parts/forms/saving.ts';
import { Card } from '../parts/page.tsx';
import { ProductLinks } from '../parts/product-link.tsx';
import { useTell } from '../parts/toasts.tsx';
import { formatCount } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { useRelata, useRights } from '../state/session.tsx';

interface CardShape {
  item: Suggestion;
  title: string;
  /** What takes it up. */
  accept: ReactNode;
  children: ReactNode;
}

/** A suggestion with its evidence, and the two things that can be done with it. */
export function SuggestionCard({ item, title, accept, children }: CardShape) {
  const { canChange } = useRights();
  return (
    <Card
      title={title}
      actions={
        canChange && (
          <>
            <Dismissal item={item} />
            {accept}
          </>
        )
      }
    >
      {children}
    </Card>
  );
}

function Dismissal({ item: { id, dismissed } }: { item: Suggestion }) {
  const relata = useRelata();
  const project = useProject();
  const refresh = useRefresh('suggestions');
  const tell = useTell();
  const [isBusy, setBusy] = useState(false);
  const { dismiss, restore } = relata.suggestions;
  const undo = async () => {
    await restore(project.id, id);
    await refresh();
  };
  const change = async () => {
    setBusy(true);
    await (dismissed ? restore : dismiss)(project.id, id).then(
      () => dismissed || tell.undoable(t('The suggestion is dismissed'), undo),
      tell.bad,
    );
    await refresh();
    setBusy(false);
  };
  return (
    <Button look="quiet" busy={isBusy} onClick={() => void change()}>
      {dismissed ? t('Suggest it again') : t('Dismiss')}
    </Button>
  );
}

interface SeenValue {
  readonly value: string;
  readonly count: number;
  readonly identifiers: readonly string[];
}

/** Values with how many products have them. */
export function SeenValues({ title, values }: { title: string; values: readonly SeenValue[] }) {
  if (values.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="stack small">
        {values.map(({ value, count, identifiers }) => (
          <li key={value}>
            <span className="mono break">{value}</span> <span className="soft">{formatCount(count)}</span>{' '}
            <ProductLinks identifiers={identifiers} hasMore={count > identifiers.length} />
          </li>
        ))}
      </ul>
    </div>
  );
}
