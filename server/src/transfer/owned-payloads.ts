import type { DatabaseSync } from 'node:sqlite';

/** A payload that somebody still needs. */
interface OwnedPayload {
  readonly projectId: number;
  readonly name: string;
}

/**
 * Bodies that open tasks and open full updates still need, the pieces of files that runs have yet to read, and what channels
 * have published. `listKeptPayloads` of app/upkeep.ts says the same of a running service: what it does not name is removed.
 */
const OWNED = `select project_id as projectId, payload_name as name from full_update_batch
  union select project_id, payload ->> '$.source.payloadName' from task
    where status in ('PENDING', 'RUNNING') and payload ->> '$.source.payloadName' is not null
  union select project_id, value from task, json_each(task.payload, '$.payloadNames')
    where status in ('PENDING', 'RUNNING')
  union select r.project_id, value from task join pipeline_run r
    on r.project_id = task.project_id and r.task_number = number, json_each(r.upload, '$.pieces')
    where status in ('PENDING', 'RUNNING')
  union select project_id, p.value ->> '$.name'
    from channel_snapshot, json_each(files) f, json_each(f.value, '$.pieces') p
  order by 1, 2`;

export const listOwnedPayloads = (control: DatabaseSync): OwnedPayload[] =>
  control
    .prepare(OWNED)
    .all()
    .map(({ projectId, name }) => ({ projectId: Number(projectId), name: String(name) }));
