/** The door of the commands that feed a service. They use its HTTP interface, as any shop does. */
export { diff, lookUp, pull, remove } from './catalog-commands.ts';
export type { ConnectionFlags } from './connection.ts';
export { login } from './connection.ts';
export { type DocumentName, documentCommands } from './document-commands.ts';
export { type PushFlags, push } from './push.ts';
export { describeFailure, fit, related, tasks } from './question-commands.ts';
