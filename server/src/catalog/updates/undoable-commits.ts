import { ServiceError } from '../../kernel/errors.ts';
import type { WrittenChange } from '../browse/browse.ts';
import type { CatalogParts, CatalogSettings } from '../catalog-parts.ts';
import type { ChangePage, ChangePlace, RestoreOrder, UndoableCommit } from '../port.ts';

/** The undo depth: how many commits and deletes can be undone, and for how long. Source: docs/interface §4.5. */

const DAY_MS = 24 * 3_600_000;

/** @returns how many commits can be undone, and the time of the oldest one */
export const undoLimitsOf = (
  { keptCommits, keptDays }: Pick<CatalogSettings, 'keptCommits' | 'keptDays'>,
  now: number,
) => ({ undoDepth: keptCommits, undoSince: keptDays === null ? undefined : now - keptDays * DAY_MS });

/** @throws nothing_to_restore, changed_meanwhile */
export function refuseRestore(commits: readonly UndoableCommit[], order: RestoreOrder): void {
  const [last] = commits;
  const { commit = last?.id, ifLast = last?.id } = order;
  if (!commits.some(({ id }) => id === commit)) throw refusalOfRestore(undefined, order);
  if (last?.id !== ifLast) throw refusalOfRestore(last?.id, order);
}

/** @param last the last commit, if it is not the expected one */
export function refusalOfRestore(last: number | undefined, { commit, ifLast }: RestoreOrder): ServiceError {
  if (last === undefined && commit === undefined) return new ServiceError('nothing_to_restore');
  if (last === undefined)
    return new ServiceError(
      'nothing_to_restore',
      `the commit ${commit} is no longer in the undo log, or was undone already`,
    );
  const details = [`the last commit is ${last}, but ifLast is ${ifLast}; read the commits again`];
  return new ServiceError('changed_meanwhile', { details });
}

type ListedChanges = Omit<ChangePage, 'after'> & { readonly cursor?: string };

/** The undo log in the form of the API. @throws not_found for a commit that is not in it */
export function createUndoableCommits({ store, scans, tasks, getSettings }: CatalogParts) {
  const describe = async (projectId: number, commits: readonly UndoableCommit[]) => {
    const numbers = commits.map(({ id }) => id);
    const byNumber = new Map(
      (await tasks.listNumbered(projectId, numbers)).map((task) => [task.number, task]),
    );
    return commits.map((commit) => {
      const task = byNumber.get(commit.id);
      return { ...commit, taskId: task?.id ?? null, origin: task?.origin ?? null };
    });
  };
  const readReach = async (projectId: number) => {
    const { keptCommits, keptDays } = await getSettings(projectId);
    return { keptCommits, keptDays };
  };
  return {
    /** Lists commits, latest first. */
    async list(projectId: number) {
      const items = await describe(projectId, await store.listUndoableCommits(projectId));
      return { items, ...(await readReach(projectId)) };
    },
    async listChanges(projectId: number, { cursor, limit, ...changes }: ListedChanges, signal: AbortSignal) {
      const after = cursor === undefined ? { part: 'present' as const, productId: 0 } : readPlace(cursor);
      const input = { ...changes, after, limit: limit + 1 };
      const listed = await scans.listCommitChanges({ projectId, input }, signal);
      if (listed === undefined) throw refuseNotLogged(changes.commit);
      const page = listed.slice(0, limit);
      const last = listed.length > limit ? page.at(-1) : undefined;
      const nextCursor = last === undefined ? null : writePlace(last);
      return joinList(
        page.map(({ shown }) => [shown]),
        { nextCursor },
      );
    },
    async listOfProduct(projectId: number, identifier: string, signal: AbortSignal) {
      const changes = await scans.listProductChanges({ projectId, input: identifier }, signal);
      const commits = changes.map(({ commit }) => commit);
      const described = await describe(projectId, commits);
      const items = changes.map(({ shown }, index) => [
        Buffer.from(`{"commit":${JSON.stringify(described[index])},`),
        shown.subarray(1),
      ]);
      return joinList(items, await readReach(projectId));
    },
    async weighRestore(projectId: number, commit: number, signal: AbortSignal) {
      const effect = await scans.read('weighRestore', { projectId, input: commit }, signal);
      if (effect === undefined) throw refuseNotLogged(commit);
      return effect;
    },
  };
}

const refuseNotLogged = (commit: number) =>
  new ServiceError(
    'not_found',
    `the commit ${commit} is not in the undo log; GET …/commits lists the commits that can be undone`,
  );

/** @returns JSON: `{"items":[…],…}` */
function joinList(items: readonly (readonly Uint8Array[])[], others: object): readonly Uint8Array[] {
  const joined = items.flatMap((parts, index) => (index === 0 ? parts : [Buffer.from(','), ...parts]));
  return [Buffer.from('{"items":['), ...joined, Buffer.from(`],${JSON.stringify(others).slice(1)}`)];
}

const writePlace = ({ kind, productId }: WrittenChange): string =>
  Buffer.from(`${kind === 'created' ? 'created' : 'present'} ${productId}`).toString('base64url');

/** @throws query_invalid */
function readPlace(cursor: string): ChangePlace {
  const [, part, id] =
    /^(present|created) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (part === 'present' || part === 'created') return { part, productId: Number(id) };
  throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the previous page');
}
