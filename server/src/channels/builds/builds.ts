/**
 * The door of builds: what starts a build, what it does, and the files that it has published. A build is a task that
 * reads and writes in its own thread.
 */

export { type BuildThreads, type ChannelThreadData, createBuildThreads } from './build-client.ts';
export { createChangeNotices, createChannelSchedule } from './build-schedule.ts';
export { channelThreadOperations } from './build-thread.ts';
export { type BuildRequest, ChannelBuilds } from './channel-builds.ts';
export { dropPieces } from './published-snapshots.ts';
export { findServedFile } from './served-files.ts';
