/**
 * The door of builds: what starts one, what it does, and the files that it has published. A build is a task; its reading
 * and writing happens on a thread of its own.
 */
export { type BuildThreads, type ChannelThreadData, createBuildThreads } from './build-client.ts';
export { type BuildThreadParts, channelThreadOperations } from './build-thread.ts';
export { type BuildRequest, ChannelBuilds } from './channel-builds.ts';
export { dropPieces } from './publish.ts';
export { createChangeNotices, createChannelSchedule } from './schedule.ts';
export { findServedFile } from './served-files.ts';
