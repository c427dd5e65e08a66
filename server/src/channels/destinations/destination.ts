import type { Static, TObject } from 'typebox';
import { Type } from 'typebox';
import type { Outbound, SecretMembers } from '../../outbound/outbound.ts';

/** Where files are put, while somebody is connected. */
export interface OpenedDestination {
  /** Whoever looks sees the file that was there or the new one, never a part; some servers show none for a moment. @throws OutboundProblem */
  write(name: string, bytes: AsyncIterable<Uint8Array>, mediaType: string): Promise<number>;
  /** One that is not there is removed already. @throws OutboundProblem */
  remove(name: string): Promise<void>;
  close(): void;
}

/** What a destination is: one record in the list of `destinations.ts`. `Sent` is what a definition may say of one. */
export interface DestinationKind<Sent> {
  readonly type: string;
  /** @returns what the schema cannot say is wrong, by the option it is wrong with */
  check(sent: Sent): Readonly<Record<string, string | undefined>>;
  /** @throws OutboundProblem */
  open(sent: Sent, via: Outbound): Promise<OpenedDestination>;
  /** Where it is, for people; nothing of it is secret. */
  describe(sent: Sent): string;
  readonly secrets: SecretMembers<Sent>;
  /** Whose the secrets are, at one address. */
  accountOf(sent: Sent): string;
}

const FOLDER_LENGTH = 255;

/** Of both kinds; what `checkFolder` and `pathIn` are for. */
export const folderOption = (description: string) =>
  Type.Optional(Type.String({ maxLength: FOLDER_LENGTH, 'x-label': 'Folder', description }));

/** @returns what is wrong with a folder, once what it may begin with is gone */
export function checkFolder(folder: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f\\]/.test(folder))
    return 'is written with / and without \\ and control characters';
  const names = folder.replace(/\/$/, '').split('/');
  const isEmpty = folder === '' || folder === '/';
  const isWrong = names.some((name) => name === '' || name === '.' || name === '..');
  return !isEmpty && isWrong ? 'has no empty name, . or ..' : undefined;
}

export const pathIn = (folder: string | undefined, name: string): string =>
  folder === undefined || folder === '' || folder.endsWith('/')
    ? `${folder ?? ''}${name}`
    : `${folder}/${name}`;

/** Keeps what a record of the list says of its options. */
export const defineDestination = <Schema extends TObject>(
  kind: DestinationKind<Static<Schema>> & { readonly schema: Schema },
) => kind;
