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

/** A file that a pipeline reads, whatever its source. Its bytes can be read once; they may be packed (`unpack.ts`). */
export interface SourceFile {
  /** For logs, reports and guesses; never a path to open. */
  readonly name: string;
  /** As the sender named it, as `iso-8859-1`. */
  readonly charset?: string | undefined;
  /** As announced; undefined when the sender does not know, and then its length does not show whether it is complete. */
  readonly sizeBytes: number | undefined;
  /** Fails with a SourceProblem, also in the middle of a file. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Disposing lets go of what was not read; it may happen more than once. */
export interface OpenedSource extends AsyncDisposable {
  /** At least one, to be read one after another in this order, as if they were one file. */
  readonly files: readonly SourceFile[];
  /** To be stored when the run has ended well, and handed in at the next one. */
  readonly stamp: SourceStamp | undefined;
}

type FoundFiles = Pick<OpenedSource, 'files' | 'stamp'>;

/** Lets go of what files are read from where there are none to be read; otherwise the source does so when it is disposed of. */
export async function openOrClose(
  close: () => void,
  find: () => FoundFiles | undefined | Promise<FoundFiles | undefined>,
): Promise<OpenedSource | undefined> {
  try {
    const found = await find();
    if (found === undefined) close();
    return found && { ...found, [Symbol.asyncDispose]: async () => close() };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * By what a source is recognised as unchanged. It says nothing about the pipeline: a change of a definition has to
 * forget the stamp, or the new definition never meets the old file.
 */
export interface SourceStamp {
  readonly etag?: string;
  readonly lastModified?: string;
  /** Digest of names, sizes and instants of the files of a directory, a server by SFTP or a bucket. */
  readonly files?: string;
}

/** @returns the charset that a Content-Type names, in lower case */
export function readCharset(contentType = ''): string | undefined {
  const parameters = contentType.split(';').slice(1);
  const named = parameters.map((one) => /^\s*charset\s*=\s*["']?([^"'\s]{1,64})["']?\s*$/i.exec(one)?.[1]);
  return named.find(Boolean)?.toLowerCase();
}

type SourceReason = OutboundReason | 'redirect' | 'status' | 'too_large' | 'damaged' | 'archive' | 'outside';

/** Why a source cannot be read, in words for the owner of the pipeline. */
export const SourceProblem = OutboundProblem<SourceReason>;
export type SourceProblem = OutboundProblem<SourceReason>;

export interface SourceSettings extends WaitLimits {
  /** Has a folder for each project; undefined: directories are not read. */
  readonly importDir: string | undefined;
  /** A folder that exists; a zip archive is stored there, without a name, while it is read. */
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

export interface SourceRun {
  readonly projectId: number;
  /** The stamp of the last run that ended well, unless the definition of the pipeline changed since. */
  readonly last?: SourceStamp | undefined;
  /** The body that an upload source was sent. */
  readonly upload?: SourceFile | undefined;
}

export type OpenSettings = SourceSettings & { readonly allows: AllowedAddresses };

/** What connections of a run are made with. A run that is cancelled ends with its thread. */
export const outboundOf = (settings: OpenSettings): Outbound => ({
  ...{ allows: settings.allows, resolve: settings.resolve },
  ...{ timeouts: createTimeouts(settings, 'The source'), signal: undefined },
});

/** What a source of files is: one record in the list of `sources.ts`. */
interface SourceParts<
  Type extends string,
  Options extends TProperties,
  Sent = { type: Type; entry?: string } & Static<TObject<Options>>,
> {
  readonly type: Type;
  /** Of its schema in docs/openapi.json. */
  readonly title: string;
  /** Its name for people. */
  readonly label: string;
  readonly description: string;
  /** Beside `entry`, which every source has. */
  readonly options: Options;
  /** A run reads the file that started it. */
  readonly takesFile?: true;
  /** @returns what the schema cannot say is wrong, by the option it is wrong with */
  check(source: Sent): Readonly<Record<string, string | undefined>>;
  /** @returns undefined when nothing is new since the last run. @throws SourceProblem */
  open(source: Sent, run: SourceRun, settings: OpenSettings): Promise<OpenedSource | undefined>;
  /** For the log of a run, without anything that may be secret. */
  describe(source: Sent): string;
  /** Where options are secret. */
  readonly secrets?: SecretMembers<Sent>;
}

/** One source of the list, for code that opens any; `Source` is what a definition may say of one. */
export type FileSource<Source> = Pick<
  SourceParts<string, TProperties, Source>,
  'type' | 'takesFile' | 'check' | 'open' | 'describe' | 'secrets'
>;

const entry = optional.text({
  minLength: 1,
  maxLength: GLOB_LENGTH,
  'x-label': 'File in a zip archive',
  description: 'which file to take out of a zip archive with several: a pattern with *, ? and **',
});

/** Adds the schema of what a definition says of its source. */
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

/** A file that is sent in is meant to be read, whether or not it was sent before. */
export const upload = defineSource({
  type: 'upload',
  title: 'UploadSource',
  label: 'A file that is sent in',
  description: 'A file that is sent in; each file starts a run',
  options: {},
  takesFile: true,
  check: () => ({}),
  async open(_, { upload: file }) {
    if (file === undefined) throw new SourceProblem('no_file', 'No file has been sent in for this run');
    return { files: [file], stamp: undefined, async [Symbol.asyncDispose]() {} };
  },
  describe: () => 'the file that was sent in',
});
