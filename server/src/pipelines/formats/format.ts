import { type Static, Type } from 'typebox';
import { DELIMITERS } from './csv/csv.ts';
import { ENCODINGS } from './decode.ts';

const closed = { additionalProperties: false } as const;

const Delimiter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 1,
    pattern: '^[^\\r\\n"\\u0000\\uFEFF]$',
    description: `default: found among ${DELIMITERS.map((sign) => JSON.stringify(sign)).join(', ')}`,
  }),
);
const Quote = Type.Optional(
  Type.Enum(['"', "'", ''], { description: 'default: found; "" where quotes mean nothing' }),
);
const Encoding = Type.Optional(
  Type.Enum([...ENCODINGS], {
    description:
      'default: found by byte order mark, else UTF-8, else windows-1252; a byte order mark is stronger',
  }),
);
const HeaderRow = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 1_048_576,
    description:
      'first row that may hold the names of the columns, default 1; 0: none does, and they are Column 1, …',
  }),
);

const Name = Type.String({ minLength: 1, maxLength: 1_000 });

/** How a source is written. Every option is found out where it is left out. */
export const FormatSchema = Type.Union([
  Type.Object(
    {
      type: Type.Literal('csv'),
      delimiter: Delimiter,
      quote: Quote,
      encoding: Encoding,
      headerRow: HeaderRow,
    },
    closed,
  ),
  Type.Object({ type: Type.Literal('tsv'), quote: Quote, encoding: Encoding, headerRow: HeaderRow }, closed),
  Type.Object(
    {
      type: Type.Literal('json'),
      path: Type.Optional(
        Type.String({
          maxLength: 1_000,
          description:
            'keys that lead to the list, as data.products; $ for the root; default: the first list of objects',
        }),
      ),
    },
    closed,
  ),
  Type.Object({ type: Type.Literal('ndjson') }, closed),
  Type.Object(
    {
      type: Type.Literal('xml'),
      record: Type.Optional({
        ...Name,
        description:
          'name of the element that is repeated, or its path as catalog/products/product; default: found',
      }),
    },
    closed,
  ),
  Type.Object(
    {
      type: Type.Literal('xlsx'),
      sheet: Type.Optional(
        Type.Union([Name, Type.Integer({ minimum: 1, maximum: 10_000 })], {
          description: 'name or number from 1; default: the first that is not hidden',
        }),
      ),
      headerRow: HeaderRow,
    },
    closed,
  ),
  Type.Object({ type: Type.Literal('google-merchant'), encoding: Encoding }, closed),
  Type.Object({ type: Type.Literal('shopify-csv'), delimiter: Delimiter, encoding: Encoding }, closed),
  Type.Object(
    {
      type: Type.Literal('bmecat'),
      language: Type.Optional(
        Type.String({
          minLength: 2,
          maxLength: 10,
          description:
            'as the file names it, for texts in several languages; default: the language of the catalog',
        }),
      ),
    },
    closed,
  ),
  Type.Object({ type: Type.Literal('native') }, closed),
]);

export type Format = Static<typeof FormatSchema>;

/** A mapping that fits a format without a look at the file. Its columns may be missing in a file; then nothing is mapped. */
export interface DefaultMapping {
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly name: string;
  readonly productUrl?: string;
  readonly images?: readonly string[];
  readonly categories?: { readonly from: string; readonly separator: string };
  readonly attributes?: '*';
}
