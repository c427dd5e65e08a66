/** What is the same for files of other machines: which of those that match are read, and whether they are new. */
import { createHash } from 'node:crypto';
import { type AllowedAddresses, createTimeouts, type Outbound } from '../../outbound/outbound.ts';
import { tooLarge } from './byte-streams.ts';
import { SourceProblem, type SourceRun, type SourceSettings, type SourceStamp } from './source.ts';

/** Names looked at, and files read, in one run; more is a mistake in the pattern or the folder. */
const NAMES_SEEN = 100_000;
const FILES = 1_000;

export interface RemoteFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedAt: number | string;
  /** Other than size and instant, where the server has something. */
  readonly etag?: string;
}

export interface RemoteChoice {
  /** `all`, the default: a catalog may come in parts. `newest`: of dated exports only the last one counts. */
  readonly take: 'all' | 'newest' | undefined;
  readonly maxBytes: number;
  readonly last: SourceStamp | undefined;
  /** For the texts, as `sftp://host/path`. */
  readonly where: string;
}

/**
 * @param names everything that was looked at; undefined for what does not match
 * @returns files in the order of their names by code unit; undefined when names, sizes and instants are those of `last`
 * @throws SourceProblem no_file, too_large
 */
export async function chooseFiles<File extends RemoteFile>(
  names: AsyncIterable<File | undefined>,
  { take, maxBytes, last, where }: RemoteChoice,
): Promise<{ files: readonly File[]; stamp: SourceStamp } | undefined> {
  const found = await collect(names, where);
  if (found.length === 0) throw new SourceProblem('no_file', `No file matches ${where}`);
  const files = take === 'newest' ? [pickNewest(found)] : found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (total > maxBytes) throw tooLarge('What matches the pattern', maxBytes);
  const stamp = { files: digestOf(files) };
  return last?.files === stamp.files ? undefined : { files, stamp };
}

async function collect<File>(names: AsyncIterable<File | undefined>, where: string): Promise<File[]> {
  const found: File[] = [];
  let seen = 0;
  for await (const file of names) {
    seen += 1;
    if (file !== undefined) found.push(file);
    if (seen > NAMES_SEEN || found.length > FILES)
      throw new SourceProblem(
        'too_large',
        `${where} leads to more than ${seen > NAMES_SEEN ? NAMES_SEEN : FILES} files; the pattern has to say more`,
      );
  }
  return found;
}

const pickNewest = <File extends RemoteFile>(found: readonly File[]): File =>
  found.reduce((newest, file) => (file.modifiedAt >= newest.modifiedAt ? file : newest));

function digestOf(files: readonly RemoteFile[]): string {
  const rows = files.map(({ name, sizeBytes, modifiedAt, etag }) => [name, sizeBytes, modifiedAt, etag]);
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex');
}

/** What connections of a run are made with. */
export const outboundOf = (
  settings: SourceSettings & { readonly allows: AllowedAddresses },
  { signal }: Pick<SourceRun, 'signal'>,
): Outbound => ({
  allows: settings.allows,
  resolve: settings.resolve,
  timeouts: createTimeouts(settings, 'The source'),
  signal,
});

/** @returns the part of a path or key before its first name with *, ? or **, and the rest; no rest where there is none */
export function splitPattern(path: string): { fixed: string; pattern: string | undefined } {
  const names = path.split('/');
  const at = names.findIndex((name) => /[*?]/.test(name));
  if (at < 0) return { fixed: path, pattern: undefined };
  return { fixed: names.slice(0, at).join('/'), pattern: names.slice(at).join('/') };
}
