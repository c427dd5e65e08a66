/**
 * The door of keys: API keys, their scope and access, how often they may call, and whom a presented key stands for.
 * Never knows a password or a session.
 */

export { makeKeyValue, type NewKey } from './api-key.ts';
export { countAccountKeys, hasAnyKey, removeKeysOf } from './api-key-store.ts';
export { createKeyFinder } from './key-finder.ts';
export { createKeyManagement, refuseLimited } from './key-management.ts';
export { createLastUse } from './last-use.ts';
