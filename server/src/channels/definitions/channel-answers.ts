/** The answers for channels and their builds. */
import { type Task, toWireTask } from '../../tasks/tasks.ts';
import { maskDestinations } from '../destinations/destinations.ts';
import { planFiles } from '../formats/formats.ts';
import { type BuildCounts, type Channel, NO_COUNTS, type Snapshot } from './channel.ts';
import type { ChannelBuild, ChannelState } from './channel-definitions.ts';

/** The address of the service. */
export type FindBaseUrl = () => string;

/** Source: docs/interface.md §16.1. */
export function toWireChannel({ channel, published, lastBuild }: ChannelState, findBaseUrl: FindBaseUrl) {
  const { id, definition, token, nextBuildAt, createdAt, updatedAt } = channel;
  const urlOf = (fileName: string) => `${findBaseUrl()}/channels/${token}/${fileName}`;
  const isPlanned = definition.trigger.type === 'schedule' && nextBuildAt !== undefined;
  return {
    id,
    ...definition,
    destinations: maskDestinations(definition.destinations),
    url: urlOf(fileNameOf(channel)),
    createdAt,
    updatedAt,
    ...(isPlanned && { nextBuildAt }),
    published: published === undefined ? null : toPublished(published, urlOf),
    lastBuild: lastBuild === undefined ? null : toLastBuild(lastBuild),
  };
}

const fileNameOf = ({ definition: { format } }: Channel) => planFiles(format).nameOf(1);

const toPublished = (
  { createdAt, catalogVersion, rows, files }: Snapshot,
  urlOf: (fileName: string) => string,
) => ({
  ...{ builtAt: createdAt, catalogVersion, rows },
  files: files.map((file) => ({
    ...{ name: file.name, url: urlOf(file.name), rows: file.rows },
    ...{ sizeBytes: file.sizeBytes, sha256: file.sha256 },
  })),
});

function toLastBuild({ task, startedBy }: ChannelBuild) {
  const { id, taskStatus, startTime, finishTime, warnings, error } = toWireTask(task);
  return {
    ...{ taskId: id, taskStatus, startedBy, startTime, finishTime, counts: countsOf(task) },
    ...(warnings && { warnings }),
    ...(error && { error }),
  };
}

export const toWireBuild = ({ task, startedBy }: ChannelBuild) => ({
  task: toWireTask(task),
  startedBy,
  counts: countsOf(task),
});

function countsOf({ result }: Task): BuildCounts | null {
  if (result === undefined) return null;
  return { ...NO_COUNTS, ...((result as { counts?: BuildCounts }).counts ?? {}) };
}

export const toStartedBuild = (task: Task) => ({
  status: 'success' as const,
  message: 'Channel build started' as const,
  task: toWireTask(task),
});
