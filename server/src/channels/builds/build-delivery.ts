import { openDefinition } from '../../definitions/definitions.ts';
import { planFiles } from '../../formats/formats.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Base } from '../../storage/storage.ts';
import type { TaskRun } from '../../tasks/tasks.ts';
import {
  CHANNEL_SECRETS,
  type Channel,
  forgetRows,
  listSnapshots,
  type Snapshot,
} from '../channel-definitions/channel-definitions.ts';
import { describeDestination } from '../destinations/destinations.ts';
import type { BuildThreads } from './build-client.ts';

interface DeliveryParts extends Pick<Base, 'database' | 'payloads' | 'secrets'> {
  readonly threads: Pick<BuildThreads, 'deliver'>;
}

/**
 * Delivers the snapshot of a build to the destinations of its channel.
 * @throws secret_unreadable, channel_undelivered; the published files stay, and the next build of changes writes all
 * rows
 */
export async function deliverSnapshot(
  { database, payloads, secrets, threads }: DeliveryParts,
  run: TaskRun,
  channel: Channel,
): Promise<void> {
  const { destinations } = openDefinition(CHANNEL_SECRETS, channel, secrets);
  const snapshots = destinations.length === 0 ? [] : await listSnapshots(database.read, channel);
  const snapshot = snapshots.find(({ taskNumber }) => taskNumber === run.task.number);
  if (snapshot === undefined) return;
  const stale = listStale(channel, snapshot, snapshots);
  const failed: string[] = [];
  for (const destination of destinations) {
    const to = describeDestination(destination);
    await run.log(`delivering to ${to}`);
    const { files, bytes, problem } = await threads.deliver({ snapshot, stale, destination }, run.signal);
    if (problem === undefined) await run.log(`delivered ${files} files, ${bytes} bytes to ${to}`);
    else failed.push(`${to}: ${problem}`);
  }
  if (failed.length === 0) return;
  for (const name of await forgetRows(database, snapshot))
    await payloads.remove(channel.projectId, name).catch(() => {});
  for (const message of failed) {
    await run.log(`not delivered to ${message}`);
    run.report({ code: 'undelivered', message });
  }
  throw new ServiceError('channel_undelivered', { details: failed });
}

/** @returns the names of files that only a larger earlier build had */
function listStale({ definition: { format } }: Channel, { files }: Snapshot, former: readonly Snapshot[]) {
  const most = Math.max(...former.map((earlier) => earlier.files.length));
  const { nameOf } = planFiles(format);
  return Array.from({ length: most - files.length }, (_, index) => nameOf(files.length + 1 + index));
}
