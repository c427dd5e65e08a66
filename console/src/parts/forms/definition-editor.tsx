import type { Tagged } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import { t } from '../../languages/text.ts';
import { MistakesContext, readMistakes } from '../../state/mistakes.ts';
import { useProject } from '../../state/project.ts';
import { linkTo } from '../../state/route.ts';
import { useRights } from '../../state/session.tsx';
import { Button, LinkButton } from '../button.tsx';
import { ErrorNote, Page } from '../page.tsx';
import { type Defined, type Draft, Meanwhile, nameList, type useSaving } from './draft.tsx';

/** @returns what is stored, as it is when somebody begins to change it; nothing is asked without an id */
export function useStored<Value>(
  what: Defined,
  id: number | undefined,
  read: (id: number, signal: AbortSignal) => Promise<Tagged<Value>>,
) {
  const project = useProject();
  return useQuery({
    queryKey: [`${what}-to-change`, project.id, id],
    queryFn: ({ signal }) => read(id as number, signal),
    enabled: id !== undefined,
    // Whoever comes back sees at once what others have changed.
    refetchOnWindowFocus: 'always',
    gcTime: 0,
  });
}

interface EditorShape<Definition> {
  what: Defined;
  stored: { readonly id: number; readonly name: string } | undefined;
  edited: Draft<Definition>;
  saving: ReturnType<typeof useSaving>;
  /** Told before anything is saved: they stand at their fields too. */
  mistakes?: readonly string[];
  children: ReactNode;
}

function nameEditor(
  what: Defined,
  stored: { readonly name: string } | undefined,
  canChange: boolean,
): string {
  if (stored === undefined) return t('New {what}', { what });
  return canChange ? t('Change {name}', { name: stored.name }) : stored.name;
}

/** A definition as it is made or changed. */
export function DefinitionEditor<Definition extends { readonly name: string }>({
  what,
  stored,
  edited,
  saving,
  mistakes = [],
  children,
}: EditorShape<Definition>) {
  const project = useProject();
  const { canChange } = useRights();
  const { save, error, isBusy } = saving;
  const list = linkTo('projects', project.id, `${what}s`);
  const own = stored && linkTo('projects', project.id, `${what}s`, stored.id);
  return (
    <Page
      title={nameEditor(what, stored, canChange)}
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        [nameList(what), list],
        ...(stored && own ? [[stored.name, own] as const] : []),
      ]}
      actions={
        canChange && (
          <>
            <LinkButton href={own ?? list}>{t('Cancel')}</LinkButton>
            <Button
              look="primary"
              busy={isBusy}
              disabled={edited.draft.name === ''}
              onClick={() => void save()}
            >
              {stored ? t('Save') : t('Create the {what}', { what })}
            </Button>
          </>
        )
      }
    >
      <ErrorNote error={error} />
      <Meanwhile what={what} of={edited} />
      <MistakesContext value={[...new Set([...readMistakes(error), ...mistakes])]}>
        <Fragment key={edited.round}>{children}</Fragment>
      </MistakesContext>
    </Page>
  );
}
