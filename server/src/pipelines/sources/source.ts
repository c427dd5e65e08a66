import {
  type Static,
  type TLiteral,
  type TObject,
  type TOptional,
  type TProperties,
  type TString,
  Type,
} from 'typebox';
import { optional } from '../../kernel/optional.ts';
import {
  type AllowedAddresses,
  createTimeouts,
  type Outbound,
  OutboundProblem,
  type OutboundReason,
  type Resolve,
  type SecretMembers,
  type WaitLimits,
} from '../../outbound/outbound.ts';
import { GLOB_LENGTH } from './glob.ts';

/** A file that a pipeline reads, from any source. Its bytes can be read once, and they may be packed (`unpack.ts`). */
export interface SourceFile {
  /** The name for logs, reports and guesses; never a path to open. */
  readonly name: string;
  /** The name that the sender gave, such as `iso-8859-1`. */
  readonly charset?: string | undefined;
  /**
   * The declared size; undefined if the sender does not know it. Then the length does not show whether the file is
   * complete.
   */
  readonly sizeBytes: number | undefined;
  /** Reading may fail with a SourceProblem in the middle of a file. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Disposing closes everything that was not read. It may be repeated. */
export interface OpenedSource extends AsyncDisposable {
  /** At least one file. The files are read in this order like one file. */
  readonly files: readonly SourceFile[];
  /** Stored when the run has succeeded, and passed to the next run. */
  readonly stamp: SourceStamp | undefined;
}

type FoundFiles = Pick<OpenedSource, 'files' | 'stamp'>;

/** Closes the connection if there are no files to read. Otherwise the source closes it when the source is disposed. */
export async function openOrClose(
  close: () => void,
  find: () => FoundFiles | undefined | Promise<FoundFiles | undefined>,
): Promise<OpenedSource | undefined> {
  try {
    const files = await find();
    if (files === undefined) close();
    return files && { ...files, [Symbol.asyncDispose]: async () => close() };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Identifies an unchanged source. It does not depend on the definition of the pipeline. So a change of a definition has
 * to delete the stamp, or the new definition would never read the old file.
 */
export interface SourceStamp {
  readonly etag?: string;
  readonly lastModified?: string;
  /** Digest of the names, sizes and instants of the files of a directory, a server by SFTP or a bucket. */
  readonly files?: string;
}

/** @returns the charset in a Content-Type, in lower case */
export function readCharset(contentType = ''): string | undefined {
  const parameters = contentType.split(';').slice(1);
  const named = parameters.map(
    (parameter) => /^\s*charset\s*=\s*["']?([^"'\s]{1,64})["']?\s*$/i.exec(parameter)?.[1],
  );
  return named.find(Boolean)?.toLowerCase();
}

type SourceReason = OutboundReason | 'redirect' | 'status' | 'too_large' | 'damaged' | 'archive' | 'outside';

/** Why a source cannot be read, in words for the owner of the pipeline. */
export const SourceProblem = OutboundProblem<SourceReason>;
export type SourceProblem = OutboundProblem<SourceReason>;

export interface SourceSettings extends WaitLimits {
  /** The folder that contains a folder for each project; undefined: directories cannot be read. */
  readonly importDir: string | undefined;
  /** An existing folder. A zip archive is stored there, without a name, while it is read. */
  readonly tempDir: string;
  /** `RELATA_FETCH_ALLOW`: CIDR ranges that may be fetched from although they are not public. */
  readonly allow: readonly string[];
  readonly userAgent: string;
  /** The size as received, or as stored on the disk. */
  readonly maxPackedBytes: number;
  readonly maxUnpackedBytes: number;
  /** Resolves host names; default: the system. */
  readonly resolve?: Resolve;
}

export interface SourceRun {
  readonly projectId: number;
  /** The stamp of the last successful run, unless the definition of the pipeline has changed since. */
  readonly last?: SourceStamp | undefined;
  /** The body that was sent to an upload source. */
  readonly upload?: SourceFile | undefined;
}

export type OpenSettings = SourceSettings & { readonly allows: AllowedAddresses };

/** The settings for a run's connections. A cancelled run ends with its thread. */
export const outboundOf = (settings: OpenSettings): Outbound => ({
  allows: settings.allows,
  resolve: settings.resolve,
  timeouts: createTimeouts(settings, 'The source'),
  signal: undefined,
});

/** A source of files: one record in the list of `sources.ts`. */
interface SourceParts<
  Type extends string,
  Options extends TProperties,
  Sent = { type: Type; entry?: string } & Static<TObject<Options>>,
> {
  readonly type: Type;
  /** The title of its schema in docs/openapi.json. */
  readonly title: string;
  /** The name that people see. */
  readonly label: string;
  readonly description: string;
  /** The options besides `entry`, which every source has. */
  readonly options: Options;
  /** Whether a run reads the file that started it. */
  readonly takesFile?: true;
  /** @returns problems that the schema cannot express, by option */
  check(source: Sent): Readonly<Record<string, string | undefined>>;
  /** @returns undefined if the source has not changed since the last run. @throws SourceProblem */
  open(source: Sent, run: SourceRun, settings: OpenSettings): Promise<OpenedSource | undefined>;
  /** For the log of a run, without any text that may be secret. */
  describe(source: Sent): string;
  /** Which options are secret. */
  readonly secrets?: SecretMembers<Sent>;
}

/** A source of the list, for code that opens any source. `Source` is its type in a definition. */
export type FileSource<Source> = Pick<
  SourceParts<string, TProperties, Source>,
  'type' | 'takesFile' | 'check' | 'open' | 'describe' | 'secrets'
>;

const entry = optional.text({
  minLength: 1,
  maxLength: GLOB_LENGTH,
  'x-label': 'File in a zip archive',
  description: 'which file to read from a zip archive with several files: a pattern with *, ? and **',
});

/** Adds the schema of the source in a definition. */
export function defineSource<const Type extends string, Options extends TProperties>(
  source: SourceParts<Type, Options>,
) {
  const { type, title, label, description, options } = source;
  const schema: TObject<{ type: TLiteral<Type> } & Options & { entry: TOptional<TString> }> = Type.Object(
    { type: Type.Literal(type), ...options, entry },
    { additionalProperties: false, title, description, 'x-label': label },
  );
  return { ...source, schema };
}

/** An uploaded file is always read, even if it was sent before. */
export const upload = defineSource({
  type: 'upload',
  title: 'UploadSource',
  label: 'A file that is uploaded',
  description: 'An uploaded file; each file starts a run',
  options: {},
  takesFile: true,
  check: () => ({}),
  async open(_, { upload: file }) {
    if (file === undefined) throw new SourceProblem('no_file', 'No file has been uploaded for this run');
    return { files: [file], stamp: undefined, async [Symbol.asyncDispose]() {} };
  },
  describe: () => 'the file that was sent in',
});
