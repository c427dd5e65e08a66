import { recordEvents } from '../../events/events.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { type ControlTransaction, type Database, type PayloadFiles, readNow } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import {
  type Channel,
  insertSnapshot,
  listSnapshots,
  removeSnapshot,
  type Snapshot,
  savePublished,
} from '../definitions/definitions.ts';
import type { BuildOutput } from './build-thread.ts';

export interface Publication {
  readonly channel: Channel;
  readonly task: Task;
  readonly output: BuildOutput;
}

/** Beside the one that is served: who reads a file slowly still reads it to its end. */
const KEPT_SNAPSHOTS = 3;

/**
 * Replaces what a channel serves, in one transaction. Whoever tells of it or sends it on begins here, in the same
 * transaction.
 * @returns snapshots that are kept no longer
 * @throws changed_meanwhile for a channel that was changed or deleted since it was built
 */
export function publish(
  database: Database,
  { channel, task, output }: Publication,
): Promise<readonly Snapshot[]> {
  return database.write(
    async (tx) => {
      if (!(await savePublished(tx, channel, task.number))) throw refuseChanged();
      const at = await readNow(tx, database);
      await insertSnapshot(tx, {
        ...{ projectId: channel.projectId, channelId: channel.id, taskNumber: task.number },
        ...{ catalogVersion: output.catalogVersion, rows: output.counts.rows, files: output.files },
        createdAt: at,
      });
      const { rows } = output.counts;
      const data = { channelId: channel.id, name: channel.definition.name, rows };
      const event = { type: 'channel.published' as const, at, taskNumber: task.number, data };
      await recordEvents(tx, channel.projectId, [event]);
      return dropOld(tx, channel);
    },
    { of: channel.projectId },
  );
}

async function dropOld(tx: ControlTransaction, channel: Channel): Promise<Snapshot[]> {
  const old = (await listSnapshots(tx, channel)).slice(1 + KEPT_SNAPSHOTS);
  for (const snapshot of old) await removeSnapshot(tx, snapshot);
  return old;
}

/** Removes what snapshots had; call it when they are gone. */
export async function dropPieces(payloads: PayloadFiles, snapshots: readonly Snapshot[]): Promise<void> {
  for (const { projectId, files } of snapshots)
    for (const { name } of files.flatMap(({ pieces }) => pieces)) await payloads.remove(projectId, name);
}

const refuseChanged = () =>
  new ServiceError('changed_meanwhile', {
    details: ['the channel was changed or deleted while it was built: build it again'],
  });
