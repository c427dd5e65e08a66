import {
  type Static,
  type TLiteral,
  type TObject,
  type TOptional,
  type TProperties,
  type TString,
  Type,
} from 'typebox';
import type { AllowedAddresses, Resolve, SecretMembers, WaitLimits } from '../../outbound/outbound.ts';
import { GLOB_LENGTH } from './glob.ts';
import type { OpenedSource, SourceFile, SourceStamp } from './source.ts';

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

export interface SourceRun {
  readonly projectId: number;
  /** The stamp of the last run that ended well, unless the definition of the pipeline changed since. */
  readonly last?: SourceStamp | undefined;
  /** The body that an upload source was sent. */
  readonly upload?: SourceFile | undefined;
  readonly signal?: AbortSignal | undefined;
}

type OpenSettings = SourceSettings & { readonly allows: AllowedAddresses };

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

/** One source of the list, as those see it who deal with any; `Source` is what a definition may say of one. */
export interface FileSource<Source> {
  readonly type: string;
  readonly takesFile?: true;
  check(source: Source): Readonly<Record<string, string | undefined>>;
  open(source: Source, run: SourceRun, settings: OpenSettings): Promise<OpenedSource | undefined>;
  describe(source: Source): string;
  readonly secrets?: SecretMembers<Source>;
}

const entry = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: GLOB_LENGTH,
    'x-label': 'File in a zip archive',
    description: 'which file to take out of a zip archive with several: a pattern with *, ? and **',
  }),
);

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
