import type { RestoreEffect } from '@relata/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Answer } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

interface Shape {
  title: string;
  /** The oldest to be undone. */
  commitId: number | undefined;
  isOpen: boolean;
  onClose(): void;
}

/** Undoes a commit and all after it, once it is seen what exactly that does. */
export function TakeBack({ title, commitId, isOpen, onClose }: Shape) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const preview = useQuery({
    queryKey: ['commits', project.id, 'preview', commitId],
    queryFn: ({ signal }) =>
      relata.commits.previewRestore({ projectId: project.id, commitId: commitId ?? 0 }, { signal }),
    enabled: isOpen && commitId !== undefined,
    // Every look at it is a new one: an update may have come.
    gcTime: 0,
    staleTime: 0,
  });
  const restore = async () => {
    const last = preview.data?.last;
    const { task } = await relata.products.restore({
      projectId: project.id,
      ...(commitId !== undefined && { commit: commitId }),
      ...(last !== undefined && { ifLast: last }),
    });
    await queries.invalidateQueries({ queryKey: ['tasks', project.id] });
    setTimeout(() => goTo(linkTo('projects', project.id, 'updates', task.id)));
  };
  return (
    <FormDialog
      title={title}
      action={t('Restore')}
      isDanger
      isOpen={isOpen}
      canSubmit={preview.data !== undefined}
      onClose={onClose}
      onSubmit={restore}
    >
      {commitId === undefined ? (
        <p>{t('There is no commit or deletion that can be undone.')}</p>
      ) : (
        <Answer of={preview}>{(effect) => <Effect effect={effect} />}</Answer>
      )}
    </FormDialog>
  );
}

function Effect({ effect }: { effect: RestoreEffect }) {
  const { commits, created, changed, deleted, changedSince } = effect;
  const isNothing = created + changed + deleted === 0;
  return (
    <>
      <p>
        {t(
          '{commits, plural, one {The last commit or deletion is undone:} other {The last # commits and deletions are undone, the last one first:}}',
          { commits },
        )}
      </p>
      <ul className="bulleted">
        {created > 0 && (
          <li>
            {t('{count, plural, one {# product comes back} other {# products come back}}', {
              count: created,
            })}
          </li>
        )}
        {changed > 0 && (
          <li>
            {t(
              '{count, plural, one {# product is again as it was} other {# products are again as they were}}',
              {
                count: changed,
              },
            )}
          </li>
        )}
        {deleted > 0 && (
          <li>
            {t('{count, plural, one {# product is removed} other {# products are removed}}', {
              count: deleted,
            })}
          </li>
        )}
        {isNothing && <li>{t('No product changes.')}</li>}
      </ul>
      {changedSince > 0 && (
        <p className="note warn">
          {t(
            '{count, plural, one {# of these products was changed since. That change is overwritten and listed in the report.} other {# of these products were changed since. Those changes are overwritten and listed in the report.}}',
            { count: changedSince },
          )}
        </p>
      )}
      <p className="soft">
        {t('Changes to other products stay. It is refused if something else is committed before.')}
      </p>
    </>
  );
}
