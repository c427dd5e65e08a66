import type { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import type { Rows } from '../storage/storage.ts';

interface OwnedPayload {
  readonly projectId: number;
  readonly name: string;
}

/** A row that names payloads, with the columns of `OWNING_ROWS`. */
export type OwningRow = {
  readonly projectId: number;
  readonly kind: keyof typeof NAMED;
  readonly text: string | null;
};

/** Works on both engines. `ownedPayloads` parses the JSON of the columns, so that the statement does not. */
export const OWNING_ROWS = `select project_id as "projectId", 'batch' as kind, payload_name as text from full_update_batch
  union all select project_id, 'task', payload from task where status in ('PENDING', 'RUNNING')
  union all select r.project_id, 'run', r.upload from task t join pipeline_run r
    on r.project_id = t.project_id and r.task_number = t.number where t.status in ('PENDING', 'RUNNING')
  union all select project_id, 'snapshot', files from channel_snapshot`;

/** Reads the names of payloads from the text of a row, by the kind of the row. */
const NAMED = {
  batch: (name: string): string[] => [name],
  task: namesOfTask,
  run: (upload: string): string[] => JSON.parse(upload).pieces ?? [],
  snapshot: (files: string) =>
    (JSON.parse(files) as readonly { pieces?: readonly { name: string }[] }[]).flatMap(({ pieces = [] }) =>
      pieces.map(({ name }) => name),
    ),
};

function namesOfTask(payload: string): string[] {
  const { source, payloadNames = [] } = JSON.parse(payload);
  return [source?.payloadName ?? [], payloadNames].flat();
}

/**
 * Lists the bodies that open tasks and open full updates need, the pieces of files that runs will read, and the files
 * that channels have published. A running service removes all other payloads, and a backup omits them.
 * @returns each payload once, ordered by project and name
 */
export function ownedPayloads(rows: readonly OwningRow[]): OwnedPayload[] {
  const owned = rows.flatMap(({ projectId, kind, text }) =>
    text === null ? [] : NAMED[kind](text).map((name) => ({ projectId, name })),
  );
  const each = new Map(owned.map((payload) => [`${payload.projectId} ${payload.name}`, payload]));
  return [...each.values()].sort((a, b) => a.projectId - b.projectId || (a.name < b.name ? -1 : 1));
}

/** @param control the control database of a data folder, or a copy of it */
export const listOwnedPayloads = (control: DatabaseSync): OwnedPayload[] =>
  ownedPayloads(control.prepare(OWNING_ROWS).all() as OwningRow[]);

/** Lists the payloads that a running service needs. */
export const listNeededPayloads = async (rows: Rows): Promise<OwnedPayload[]> =>
  ownedPayloads((await sql.raw<OwningRow>(OWNING_ROWS).execute(rows)).rows);

/**
 * @param names the missing payloads.
 * @returns the id of an open task that needs one of them; undefined if there is none
 */
export function findLostTask(control: DatabaseSync, names: readonly string[]): string | undefined {
  const missing = new Set(names);
  const open = control
    .prepare(
      `select id, payload, null as name from task where status in ('PENDING', 'RUNNING')
       union all select t.id, null, b.payload_name from full_update_batch b join full_update f on f.id = b.full_update_id
         join task t on t.id = f.commit_task_id where t.status in ('PENDING', 'RUNNING')`,
    )
    .all() as { id: string; payload: string; name: string | null }[];
  return open.find(({ payload, name }) =>
    (name === null ? namesOfTask(payload) : [name]).some((needed) => missing.has(needed)),
  )?.id;
}
