/**
 * What pipelines read: one GET of a URL, files of a directory, a server or a bucket, or an uploaded file. A source
 * opens what has changed since the last run as byte streams with limits of size and time, and undoes gzip and zip.
 * Formats read the contents of a file.
 */
import { type Static, Type } from 'typebox';
import type { ByteStream } from '../../formats/streams/streams.ts';
import {
  allowAddresses,
  fillMembers,
  listMasked,
  maskMembers,
  pickSecrets,
} from '../../outbound/outbound.ts';
import { directory } from './directory-source.ts';
import { globProblem } from './glob.ts';
import { http } from './http-source.ts';
import { s3 } from './s3-source.ts';
import { sftp } from './sftp-source.ts';
import {
  type FileSource,
  type OpenedSource,
  type SourceFile,
  type SourceRun,
  type SourceSettings,
  upload,
} from './source.ts';
import { unpackBytes } from './unpack.ts';

export type { OpenedSource, SourceFile, SourceSettings, SourceStamp } from './source.ts';
export { readCharset, SourceProblem } from './source.ts';

/** All other uses of sources are derived from this list: docs/openapi.json, checks, masks, and the console's choice. */
const SOURCES = [http, upload, directory, sftp, s3] as const;

/** Source: docs/interface §13.1. */
export const SourceSchema = Type.Union(SOURCES.map(({ schema }) => schema));
export type Source = Static<(typeof SOURCES)[number]['schema']>;

/** @throws Error for an unknown type; the type of a stored source was checked before */
function getSource({ type }: Source): FileSource<Source> {
  const source: FileSource<Source> | undefined = SOURCES.find((candidate) => candidate.type === type);
  if (source === undefined) throw new Error(`There is no source ${type}`);
  return source;
}

/** @returns the problems of a source that the schema cannot express, for the details of a refusal */
export function checkSource(source: Source): string[] {
  const entry = source.entry === undefined ? undefined : globProblem(source.entry);
  const problems = { entry, ...getSource(source).check(source) };
  return Object.entries(problems).flatMap(([option, problem]) =>
    problem === undefined ? [] : [`/source/${option}: ${problem}`],
  );
}

/** @returns whether a run needs the file that started it */
export const takesFile = (source: Source): boolean => getSource(source).takesFile === true;

/** @returns what a run reads, for its log, without secrets */
export const describeSource = (source: Source): string => getSource(source).describe(source);

/** @returns the source in the form for answers and storage, with *** in place of secrets */
export const maskSource = <Any extends Source>(source: Any): Any =>
  maskMembers(source, getSource(source).secrets);

/** @returns the secrets of a source, to be sealed; undefined if it has none, or only masked ones */
export const secretsOf = (source: Source): object | undefined =>
  pickSecrets(source, getSource(source).secrets);

/** @returns the members of a source that were sent as *** */
export const listMaskedMembers = (source: Source): string[] => listMasked(source, getSource(source).secrets);

/** Fills in the masked values of a definition that was read and sent back. @returns undefined if a value is missing */
export function unmaskSource<Any extends Source>(sent: Any, stored: Source | undefined): Any | undefined {
  const sameType = stored?.type === sent.type ? stored : undefined;
  return fillMembers(sent, sameType, getSource(sent).secrets) as Any | undefined;
}

const GIB = 1024 * 1024 * 1024;

/** An export is often made while it is fetched, so the first byte may take long. The rest then follows quickly. */
export const SOURCE_LIMITS = {
  connectMs: 15_000,
  idleMs: 120_000,
  wholeMs: 3_600_000,
  maxPackedBytes: 4 * GIB,
  maxUnpackedBytes: 8 * GIB,
} as const;

export type Sources = ReturnType<typeof createSources>;

/** @throws Error for an invalid range in `allow`; settings are checked at the start */
export function createSources(settings: SourceSettings) {
  const opening = { ...settings, allows: allowAddresses(settings.allow) };
  const { tempDir, maxPackedBytes, maxUnpackedBytes } = settings;
  return {
    /**
     * @returns undefined if the source has not changed since the last run. @throws SourceProblem, like reading the
     * files
     */
    open: async (source: Source, run: SourceRun): Promise<OpenedSource | undefined> =>
      getSource(source).open(source, run, opening),
    /** @returns the bytes for the reader of a format: gzip and zip are undone, and workbooks stay unchanged */
    unpack: (file: SourceFile, { entry }: Source): ByteStream =>
      unpackBytes(file.bytes, { entry, tempDir, maxPackedBytes, maxUnpackedBytes }),
  };
}
