/**
 * The door of keys: API keys, their scope and access, how often they may call, and whom a presented key
 * identifies. Knows no passwords or sessions.
 */
export { hashSecret, makeSecret, type NewKey, type SecretHash } from './api-key.ts';
export { countAccountKeys, hasAnyKey, removeKeysOf } from './api-key-store.ts';
export { createKeyFinder } from './key-finder.ts';
export { createKeyManagement, makeKeyValue, refuseLimited } from './key-management.ts';
export { LastUse } from './last-use.ts';
