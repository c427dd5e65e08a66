import type { Commit, CommitChange, RestoreEffect } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer, Card, FormDialog } from '../parts/page.tsx';
import {
  ChangeKind,
  describeAuthor,
  describeCounts,
  describeReach,
  nameCommit,
  ProductDifference,
} from '../parts/product-difference.tsx';
import { Ago } from '../parts/show.tsx';
import { placeMarks } from '../rules/axis.ts';
import { formatAgo, formatMoment } from '../rules/format.ts';
import { useOfProject, usePages } from '../state/answers.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useRights } from '../state/rights.ts';
import { goFromHere, projectLink, useFilters } from '../state/route.ts';
import { useSettled } from '../state/timing.ts';

const REFETCH_MS = 10_000;

/** The commits and deletions that can be undone, latest first. */
export const useCommits = () =>
  useOfProject(['commits'], ({ relata, projectId, signal }) => relata.commits.list(projectId, { signal }), {
    refetchInterval: REFETCH_MS,
  });

/** Kept commits on a time axis: pointing at one shows a summary, choosing it shows all changes. */
export function Timeline() {
  const commits = useCommits();
  return (
    <Card title={t('What can be undone')}>
      <Answer of={commits}>
        {({ items, ...reach }) => (
          <>
            {items.length > 0 && <Axis commits={items} />}
            <p className="soft small">
              {items.length === 0 && t('No full update or deletion yet.')} {describeReach(reach)}{' '}
              <a href={projectLink('settings')}>{t('Settings')}</a>
            </p>
          </>
        )}
      </Answer>
    </Card>
  );
}

/** Keeps neighbouring marks distinguishable and easy to touch. */
const GAP = 0.07;
/** A pointer that only passes over a mark requests nothing. */
const REST_MS = 200;

function Axis({ commits }: { commits: readonly Commit[] }) {
  const [{ commit: chosenId }, change] = useFilters(['commit']);
  const [pointed, setPointed] = useState<Commit>();
  const settled = useSettled(String(pointed?.id ?? ''), REST_MS);
  const inOrder = [...commits].reverse();
  const positions = placeMarks(
    inOrder.map(({ at }) => at),
    GAP,
  );
  const chosen = commits.find(({ id }) => String(id) === chosenId);
  return (
    <div className="stack wide timeline-box">
      <ol className="timeline" aria-label={t('Changes by time')}>
        {inOrder.map((commit, index) => (
          <li key={commit.id} style={{ left: `${(positions[index] ?? 0) * 100}%` }}>
            <Mark
              commit={commit}
              isChosen={commit.id === chosen?.id}
              onPoint={setPointed}
              onChoose={() => change({ commit: commit.id === chosen?.id ? '' : String(commit.id) })}
            />
          </li>
        ))}
      </ol>
      <div className="row spread tiny soft">
        <span>{formatMoment(inOrder[0]?.at ?? 0)}</span>
        {inOrder.length > 1 && <span>{formatMoment(inOrder.at(-1)?.at ?? 0)}</span>}
      </div>
      {pointed && pointed.id !== chosen?.id && (
        <Glance commit={pointed} isSettled={settled === String(pointed.id)} />
      )}
      {chosen && <Chosen key={chosen.id} commit={chosen} />}
    </div>
  );
}

const LEAST_REM = 0.75;
const MORE_REM = 0.25;
/** A mark grows with each power of ten of changed products. */
const sizeOf = ({ created, changed, deleted }: Commit): number =>
  LEAST_REM + MORE_REM * Math.log10(1 + created + changed + deleted);

interface MarkShape {
  commit: Commit;
  isChosen: boolean;
  /** undefined when the pointer leaves. */
  onPoint(commit: Commit | undefined): void;
  onChoose(): void;
}

function Mark({ commit, isChosen, onPoint, onChoose }: MarkShape) {
  const [point, leave] = [() => onPoint(commit), () => onPoint(undefined)];
  const words = { what: nameCommit(commit), ago: formatAgo(commit.at), who: describeAuthor(commit) };
  return (
    <button
      type="button"
      className={`mark ${commit.kind}`}
      aria-pressed={isChosen}
      aria-label={t('{what}, {ago}, by {who}: {counts}', { ...words, counts: describeCounts(commit) })}
      {...{ onMouseEnter: point, onMouseLeave: leave, onFocus: point, onBlur: leave, onClick: onChoose }}
    >
      <span style={{ width: `${sizeOf(commit)}rem`, height: `${sizeOf(commit)}rem` }} />
    </button>
  );
}

function Heading({ commit }: { commit: Commit }) {
  const { taskId } = commit;
  return (
    <p>
      <strong>{nameCommit(commit)}</strong> <Ago instant={commit.at} />,{' '}
      {rich('by {who}: {counts}', {
        who: <span>{describeAuthor(commit)}</span>,
        counts: <span>{describeCounts(commit)}</span>,
      })}{' '}
      {taskId && <a href={projectLink('updates', taskId)}>{t('Log and report')}</a>}
    </p>
  );
}

const GLANCED = 5;

function Glance({ commit, isSettled }: { commit: Commit; isSettled: boolean }) {
  const changes = useCommitChanges(commit.id, { limit: GLANCED, enabled: isSettled });
  const items = changes.data?.pages[0]?.items ?? [];
  const more = commit.created + commit.changed + commit.deleted - items.length;
  return (
    <div className="stack glance">
      <Heading commit={commit} />
      <ul>
        {items.map((change) => (
          <li key={change.productId}>
            <ChangeKind kind={change.kind} /> <Named change={change} />
          </li>
        ))}
      </ul>
      {items.length > 0 && more > 0 && (
        <span className="soft small">{t('and {count, number} more', { count: more })}</span>
      )}
    </div>
  );
}

function Chosen({ commit }: { commit: Commit }) {
  const { canChange } = useRights();
  const [isOpen, setOpen] = useState(false);
  const dialog = { isOpen, onClose: () => setOpen(false) };
  return (
    <div className="stack wide">
      <div className="row spread">
        <Heading commit={commit} />
        {canChange && (
          <Button look="danger" onClick={() => setOpen(true)}>
            {t('Undo …')}
          </Button>
        )}
      </div>
      <CommitChanges commit={commit} />
      <TakeBack title={t('Undo back to here')} commitId={commit.id} {...dialog} />
    </div>
  );
}

type Kind = CommitChange['kind'];

function CommitChanges({ commit }: { commit: Commit }) {
  const [kind, setKind] = useState('');
  const changes = useCommitChanges(commit.id, { kind: kind as Kind | '', limit: 20 });
  return (
    <div className="stack">
      <div className="filters">
        <SelectField
          label={t('Show')}
          choices={[
            ['', t('All')],
            ['created', t('Created')],
            ['changed', t('Changed')],
            ['deleted', t('Deleted')],
          ]}
          value={kind}
          onChange={setKind}
        />
      </div>
      <Answer of={changes}>
        {({ pages }) => (
          <>
            {pages
              .flatMap(({ items }) => items)
              .map((change) => (
                <Change key={change.productId} change={change} />
              ))}
            {pages[0]?.items.length === 0 && <p className="soft">{t('None')}</p>}
            {changes.hasNextPage && (
              <div>
                <Button busy={changes.isFetchingNextPage} onClick={() => void changes.fetchNextPage()}>
                  {t('Show more')}
                </Button>
              </div>
            )}
          </>
        )}
      </Answer>
    </div>
  );
}

function useCommitChanges(
  commitId: number,
  { kind = '', limit, enabled = true }: { kind?: Kind | ''; limit: number; enabled?: boolean },
) {
  return usePages(
    ['commits', 'changes', commitId, kind, limit],
    ({ relata, projectId, signal, cursor }) =>
      relata.commits.changes(
        { projectId, commitId },
        { limit, signal, ...(kind && { kind }), ...(cursor !== undefined && { cursor }) },
      ),
    { enabled },
  );
}

function Change({ change }: { change: CommitChange }) {
  const [isOpen, setOpen] = useState(false);
  const { identifier, kind } = change;
  return (
    <details className="change" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <ChangeKind kind={kind} /> <Named change={change} />
      </summary>
      {isOpen && (
        <div className="stack">
          <ProductDifference change={change} />
          {kind !== 'deleted' && <a href={projectLink('products', identifier)}>{t('Open the product')}</a>}
        </div>
      )}
    </details>
  );
}

/** The product by its name after the change. */
function Named({ change: { identifier, before, after } }: { change: CommitChange }) {
  const { name } = (after ?? before ?? {}) as { name?: string };
  return (
    <>
      {name} <span className="mono soft small">{identifier}</span>
    </>
  );
}

interface Shape {
  title: string;
  /** The oldest commit to undo. */
  commitId: number | undefined;
  isOpen: boolean;
  onClose(): void;
}

/** Undoes a commit and all later ones, after showing exactly what that does. */
export function TakeBack({ title, commitId, isOpen, onClose }: Shape) {
  const { relata, projectId } = useCalls();
  const preview = useOfProject(
    ['commits', 'preview', commitId],
    ({ projectId, signal }) =>
      relata.commits.previewRestore({ projectId, commitId: commitId ?? 0 }, { signal }),
    // Every preview is requested again, because an update may have arrived.
    { enabled: isOpen && commitId !== undefined, gcTime: 0, staleTime: 0 },
  );
  const restore = async () => {
    const last = preview.data?.last;
    const go = goFromHere();
    const { task } = await relata.products.restore({
      projectId,
      ...(commitId !== undefined && { commit: commitId }),
      ...(last !== undefined && { ifLast: last }),
    });
    await reread('tasks');
    setTimeout(() => go(projectLink('updates', task.id)));
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
        <p>{t('There is no change that can be undone.')}</p>
      ) : (
        <Answer of={preview}>{(effect) => <Effect effect={effect} />}</Answer>
      )}
    </FormDialog>
  );
}

function Effect({ effect }: { effect: RestoreEffect }) {
  const { commits, created, changed, deleted, changedSince } = effect;
  const lines = [
    created > 0 &&
      t('{count, plural, one {# product comes back} other {# products come back}}', { count: created }),
    changed > 0 &&
      t('{count, plural, one {# product returns} other {# products return}} to an earlier state', {
        count: changed,
      }),
    deleted > 0 &&
      t('{count, plural, one {# product is removed} other {# products are removed}}', { count: deleted }),
  ].filter((line) => line !== false);
  return (
    <>
      <p>
        {t(
          '{commits, plural, one {The last change is undone:} other {The last # changes are undone, the last one first:}}',
          { commits },
        )}
      </p>
      <ul className="bulleted">
        {lines.map((words) => (
          <li key={words}>{words}</li>
        ))}
        {lines.length === 0 && <li>{t('No product changes.')}</li>}
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
        {t(
          'Changes to other products stay. Undoing is refused if another full update or deletion happens first.',
        )}
      </p>
    </>
  );
}
