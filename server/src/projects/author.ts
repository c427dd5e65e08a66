import { type Caller, isUser } from '../kernel/caller.ts';

/** The command line changes things without a key; it reaches all of one account. */
export interface CommandAuthor {
  readonly accountId: number;
  readonly scope: { readonly type: 'account' };
  readonly access: 'manage';
  /** What made the change, for the audit log, e.g. `relata key create`. */
  readonly command: string;
}

/** The caller, user or command that makes a change. */
export type Author = Caller | CommandAuthor;

/** As the audit log and `createdBy` show an author. */
export interface Actor {
  readonly type: 'key' | 'user' | 'command';
  readonly id: number | null;
  readonly name: string;
}

export function commandAuthor(accountId: number, command: string): CommandAuthor {
  return { accountId, scope: { type: 'account' }, access: 'manage', command };
}

export function actorOf(author: Author): Actor {
  if ('command' in author) return { type: 'command', id: null, name: author.command };
  if (isUser(author)) return { type: 'user', id: author.userId, name: author.userName };
  return { type: 'key', id: author.keyId, name: author.keyName };
}
