import { type Static, type TLiteral, type TObject, type TProperties, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
import type { ByteStream } from '../streams/streams.ts';
import type { ReadingNotes } from './reading-notes.ts';
import type { SourceRow } from './source-row.ts';
import type { TextStream } from './text-chunks.ts';

/**
 * A mapping that fits every file of a format. If a file lacks one of its columns, nothing is mapped from that column.
 */
export interface DefaultMapping {
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly name: string;
  readonly productUrl?: string;
  readonly images?: readonly string[];
  readonly categories?: DefaultPath | readonly DefaultPath[];
  /** `*`, or the entry `*` with the value `*`, means all columns that are not used otherwise. */
  readonly attributes?: '*' | Readonly<Record<string, string>>;
}

export interface DefaultPath {
  readonly from: string;
  readonly separator?: string;
}

/** A file to be read. */
export interface FormatReading {
  /** The bytes, unpacked. */
  readonly bytes: ByteStream;
  readonly notes: ReadingNotes;
  /** A folder for files that are removed when reading ends. */
  readonly tempDir: string;
  /** @returns the bytes as text; refuses a web page. Call it once, and do not also read `bytes`. */
  decode(encoding?: string, isMarkup?: boolean): TextStream;
}

/** An input format: a record in the list of `input-formats.ts`. Every option has a default, which is detected. */
interface InputFormatParts<Type extends string, Options extends TProperties> {
  readonly type: Type;
  readonly label: string;
  /** States what becomes a row, and how columns are named. */
  readonly description: string;
  readonly options: Options;
  /**
   * Whether a definition must have a mapping, must not have one, or may omit it because the format has a default
   * mapping.
   */
  readonly mapping: 'needed' | 'none' | DefaultMapping;
  /** File name endings without a dot; empty if the ending, such as `xml`, does not identify the format. */
  readonly endings: readonly string[];
  /** Whether the header names all columns, so that a mapping with any other column is refused. */
  readonly isTable?: true;
  open(
    reading: FormatReading,
    options: { type: Type } & Static<TObject<Options>>,
  ): AsyncIterable<readonly SourceRow[]>;
}

/** A format of the list, for code that reads any format. `Settings` is the type of its settings in a definition. */
export interface InputFormat<Settings>
  extends Pick<InputFormatParts<string, TProperties>, 'type' | 'mapping' | 'isTable'> {
  open(reading: FormatReading, options: Settings): AsyncIterable<readonly SourceRow[]>;
}

/** Adds the schema with which a definition chooses the format. */
export function defineInputFormat<const Type extends string, Options extends TProperties>(
  format: InputFormatParts<Type, Options>,
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

/** The option that chooses one of several languages. */
export const languageOption = (description: string) =>
  optional.text({ minLength: 2, maxLength: 10, 'x-label': 'Language', description });

export const headerRowOption = optional.integer({
  minimum: 0,
  maximum: 1_048_576,
  'x-label': 'Header row',
  description:
    'first row that may contain the names of the columns; default: the first row that is not a title; 0: no row names them, and they are Column 1, Column 2, …',
});
