/**
 * The door of files: the files of a data directory, watched for changes that a backup has to send, or brought to the state
 * that a backup has. It knows pages of databases and bytes of files, never what they mean.
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
