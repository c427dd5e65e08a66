/**
 * The door of files: the files of a data directory. They are watched for changes that a backup has to send, or brought
 * to the state of a backup. This room handles pages of databases and bytes of files, and never interprets them.
 */
export { FollowedFiles, listSent, OtherSchema } from './followed-files.ts';
export {
  type LocalState,
  makeHolder,
  NOTHING_SENT,
  readLocalState,
  statePath,
  writeLocalState,
} from './local-state.ts';
export { connect } from './watched-file.ts';
export { type Cut, WatchedFolder } from './watched-folder.ts';
