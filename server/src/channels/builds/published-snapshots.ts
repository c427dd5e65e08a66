import { recordEvents } from '../../events/events.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import { type Database, readNow } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import {
  type Channel,
  insertSnapshot,
  listSnapshots,
  removeSnapshot,
  type Snapshot,
  savePublished,
} from '../channel-definitions/channel-definitions.ts';
import type { BuildOutput } from './feed-writing.ts';

/** The number of snapshots that are retained besides the served one, so that slow readers can finish reading a file. */
const FORMER_SNAPSHOTS = 3;

/**
 * Replaces the served snapshot of a channel, in one transaction. @returns snapshots that are no longer served @throws
 * changed_meanwhile
 */
export function publish(
  database: Database,
  { channel, task, output }: { channel: Channel; task: Task; output: BuildOutput },
): Promise<readonly Snapshot[]> {
  return database.write(channel.projectId, async (tx) => {
    if (!(await savePublished(tx, channel, task.number)))
      throw new ServiceError('changed_meanwhile', {
        details: ['the channel was changed or deleted during the build; build it again'],
      });
    const now = await readNow(tx, database);
    await insertSnapshot(tx, {
      projectId: channel.projectId,
      channelId: channel.id,
      taskNumber: task.number,
      catalogVersion: output.catalogVersion,
      rows: output.counts.rows,
      files: output.files,
      ...(output.published && { published: output.published }),
      createdAt: now,
    });
    const { rows } = output.counts;
    const data = { channelId: channel.id, name: channel.definition.name, rows };
    const event = { type: 'channel.published' as const, at: now, taskNumber: task.number, data };
    await recordEvents(tx, channel.projectId, [event]);
    const old = (await listSnapshots(tx, channel)).slice(1 + FORMER_SNAPSHOTS);
    for (const snapshot of old) await removeSnapshot(tx, snapshot);
    return old;
  });
}

/** Removes the pieces of snapshots. Call it after the snapshots were removed. */
export async function dropPieces(payloads: PayloadFiles, snapshots: readonly Snapshot[]): Promise<void> {
  for (const { projectId, files, published } of snapshots)
    for (const { name } of [...files, published].flatMap((file) => file?.pieces ?? []))
      await payloads.remove(projectId, name);
}
