/**
 * The door of keys: API keys, their scope and access, their rate limits, and the caller that a key identifies.
 * It does not handle passwords or sessions.
 */
export { hashSecret, makeSecret, type NewKey, type SecretHash } from './api-key.ts';
export { countAccountKeys, hasAnyKey, removeKeysOf } from './api-key-store.ts';
export { createKeyFinder } from './key-finder.ts';
export { createKeyManagement, makeKeyValue, refuseLimited } from './key-management.ts';
export { LastUse } from './last-use.ts';
