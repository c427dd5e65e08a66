import { type Static, type TLiteral, type TObject, type TProperties, Type } from 'typebox';
import type { ByteStream, TextStream } from './chunks.ts';
import { ENCODINGS } from './decode.ts';
import type { ReadingNotes, SourceRow } from './source-row.ts';
import type { SpoolPlace } from './spool.ts';

/** A mapping that fits a format without a look at the file. Its columns may be missing in a file; then nothing is mapped. */
export interface DefaultMapping {
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly name: string;
  readonly productUrl?: string;
  readonly images?: readonly string[];
  readonly categories?: DefaultPath | readonly DefaultPath[];
  /** `*` with `*`: all columns that are not used otherwise. */
  readonly attributes?: '*' | Readonly<Record<string, string>>;
}

export interface DefaultPath {
  readonly from: string;
  readonly separator?: string;
}

/** One file to be read. */
export interface FormatReading {
  /** Unpacked. */
  readonly bytes: ByteStream;
  readonly notes: ReadingNotes;
  readonly place: SpoolPlace;
  /** @returns the bytes as text; a web page is refused. To be called once, and not beside `bytes`. */
  decode(encoding?: string, isMarkup?: boolean): TextStream;
}

/** What a feed format is: one record in the list of `formats.ts`. Every option is found out where it is left out. */
interface FormatParts<Type extends string, Options extends TProperties> {
  readonly type: Type;
  /** Its name for people. */
  readonly label: string;
  /** What becomes a row, and how columns are named. */
  readonly description: string;
  readonly options: Options;
  /** Whether a definition has to bring a mapping, must not, or may, since the format has one whose columns suggestions know. */
  readonly mapping: 'needed' | 'none' | DefaultMapping;
  /** How names of such files end, without a dot; none where the ending says less than the format. */
  readonly endings: readonly string[];
  /** All columns are known from the head: a mapping that names another one is refused. */
  readonly isTable?: true;
  open(
    reading: FormatReading,
    options: { type: Type } & Static<TObject<Options>>,
  ): AsyncIterable<readonly SourceRow[]>;
}

/** One format of the list, as those see it who deal with any; `Format` is what a definition may say of one. */
export interface FeedFormat<Format> {
  readonly type: string;
  readonly mapping: 'needed' | 'none' | DefaultMapping;
  readonly isTable?: true;
  open(reading: FormatReading, options: Format): AsyncIterable<readonly SourceRow[]>;
}

/** Adds the schema of what a definition says of its format. */
export function defineFormat<const Type extends string, Options extends TProperties>(
  format: FormatParts<Type, Options>,
) {
  const { type, label, description, options, mapping, endings } = format;
  const schema: TObject<{ type: TLiteral<Type> } & Options> = Type.Object(
    { type: Type.Literal(type), ...options },
    {
      additionalProperties: false,
      description,
      'x-label': label,
      'x-mapping': typeof mapping === 'string' ? mapping : 'own',
      'x-endings': endings,
    },
  );
  return { ...format, schema };
}

export const encoding = Type.Optional(
  Type.Enum([...ENCODINGS], {
    'x-label': 'Encoding',
    description:
      'default: detected by byte order mark, else UTF-8, else windows-1252; a byte order mark is stronger',
  }),
);

export const headerRow = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1_048_576,
    'x-label': 'Header row',
    description:
      'first row that may hold the names of the columns; default: the first one that is no title; 0: none does, and they are Column 1, …',
  }),
);
