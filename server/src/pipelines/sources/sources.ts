/**
 * Where pipelines read: one GET of a URL, files of a directory, a file sent in. Opens what is new since the last run as
 * streams of bytes, bounded in size and time, and undoes gzip and zip. What is in a file the formats know, not this.
 */
import { allowAddresses } from './address.ts';
import type { ByteStream } from './byte-streams.ts';
import { openDirectorySource } from './directory-source.ts';
import { openHttpSource } from './http-source.ts';
import type { Resolve } from './pinned-request.ts';
import { type OpenedSource, type SourceFile, SourceProblem, type SourceStamp } from './source.ts';
import type { Source } from './source-schemas.ts';
import type { WaitLimits } from './timeouts.ts';
import { unpackBytes } from './unpack.ts';

export type { ByteStream } from './byte-streams.ts';
export {
  type OpenedSource,
  type SourceFile,
  SourceProblem,
  type SourceReason,
  type SourceStamp,
} from './source.ts';
export { checkSource, MASK, maskSource, type Source, SourceSchema, unmaskSource } from './source-schemas.ts';

export interface SourceSettings extends WaitLimits {
  /** Has a folder for each project; undefined: directories are not read. */
  readonly importDir: string | undefined;
  /** A folder that exists; a zip archive is kept there, without a name, while it is read. */
  readonly tempDir: string;
  /** `RELATA_FETCH_ALLOW`: CIDR ranges that are fetched from although they are not public. */
  readonly allow: readonly string[];
  readonly userAgent: string;
  /** As it comes over the line or lies on the disk. */
  readonly maxPackedBytes: number;
  readonly maxUnpackedBytes: number;
  /** Looks names up; without it the system does. */
  readonly resolve?: Resolve;
}

const GIB = 1024 * 1024 * 1024;

/** An export is often made while it is fetched, so the first byte may take long; the rest then follows. */
export const SOURCE_LIMITS = {
  connectMs: 15_000,
  idleMs: 120_000,
  wholeMs: 3_600_000,
  maxPackedBytes: 4 * GIB,
  maxUnpackedBytes: 8 * GIB,
} as const;

export interface SourceRun {
  readonly projectId: number;
  /** The stamp of the last run that ended well, unless the definition of the pipeline changed since. */
  readonly last?: SourceStamp | undefined;
  /** The body that an upload source was sent. */
  readonly upload?: SourceFile | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Sources {
  /**
   * @returns undefined when nothing is new since the last run
   * @throws SourceProblem; reading the files throws it too
   */
  open(source: Source, run: SourceRun): Promise<OpenedSource | undefined>;
  /** @returns the bytes that the reader of a format gets: gzip and zip are undone, workbooks stay as they are */
  unpack(file: SourceFile, source: Source): ByteStream;
}

/** @throws Error for a range in `allow` that is none: settings are checked at the start */
export function createSources(settings: SourceSettings): Sources {
  const fetchSettings = { ...settings, allows: allowAddresses(settings.allow) };
  const { importDir, tempDir, maxPackedBytes, maxUnpackedBytes } = settings;
  return {
    async open(source, run) {
      switch (source.type) {
        case 'http':
          return openHttpSource(source, fetchSettings, run);
        case 'directory':
          return openDirectorySource(source, { ...run, importDir, maxBytes: maxPackedBytes });
        case 'upload':
          return openUpload(run.upload);
      }
    },
    unpack: (file, { entry }) =>
      unpackBytes(file.bytes, { entry, tempDir, maxPackedBytes, maxUnpackedBytes }),
  };
}

/** A file that somebody sends in is meant to be read, whether or not it was sent before. */
function openUpload(upload: SourceFile | undefined): OpenedSource {
  if (upload === undefined) throw new SourceProblem('no_file', 'No file has been sent in for this run');
  return { files: [upload], stamp: undefined, close: async () => {} };
}
