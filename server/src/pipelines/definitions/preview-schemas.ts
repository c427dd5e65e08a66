import { type Static, Type } from 'typebox';
import { Id } from '../../http/http.ts';
import { type MappedProduct, SentMappingSchema } from '../mapping/mapping.ts';
import { closed, PipelineFormat, PipelineSource, SentPipeline } from './pipeline-schemas.ts';

/** What is tried before it is stored, and what it would make. Source: docs/interface.md §13.5. */

export const SentPreview = Type.Object(
  {
    // A whole definition can be tried before it is stored, as relations can.
    ...Type.Partial(SentPipeline).properties,
    source: PipelineSource,
    format: PipelineFormat,
    pipelineId: Type.Optional({
      ...Id,
      description: 'a stored pipeline that masked headers of the source are taken from',
    }),
    file: Type.Optional(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 255 }),
          base64: Type.String({ description: 'up to 8 MiB' }),
          isBeginning: Type.Optional(
            Type.Boolean({ description: 'the file goes on behind these bytes; not for xlsx and zip' }),
          ),
        },
        { ...closed, description: 'for an upload source' },
      ),
    ),
    catalog: Type.Optional(
      Type.Boolean({
        description: 'also say what catalog the rows would make; for the modes full and incremental',
      }),
    ),
  },
  { ...closed, title: 'PipelineToTry' },
);
export type SentPreview = Static<typeof SentPreview>;

const Problem = Type.Object(
  { field: Type.String(), column: Type.Optional(Type.String()), reason: Type.String() },
  { title: 'CellProblem' },
);

/** Source: docs/interface.md §13.5 rule 9. */
const WirePreviewCatalog = Type.Object(
  {
    rows: Type.Integer({ description: 'that were read' }),
    isWhole: Type.Boolean({ description: 'the source has no further rows' }),
    products: Type.Integer({ description: 'different identifiers' }),
    filtered: Type.Integer(),
    rejected: Type.Object({
      count: Type.Integer(),
      examples: Type.Array(Type.Object({ row: Type.Integer(), reason: Type.String() })),
    }),
    categories: Type.Array(Type.Object({ path: Type.Array(Type.String()), products: Type.Integer() }), {
      description: 'the most frequent first, up to 200',
    }),
    hasMoreCategories: Type.Boolean(),
    attributes: Type.Array(
      Type.Object({
        name: Type.String(),
        type: Type.String(),
        unitName: Type.Optional(Type.String()),
        decimal: Type.Optional(Type.String()),
        reason: Type.String({ description: 'why it has this type, in words' }),
        products: Type.Integer({ description: 'that have a value' }),
        examples: Type.Array(Type.String()),
      }),
      { description: 'the most frequent first, up to 500' },
    ),
    hasMoreAttributes: Type.Boolean(),
  },
  { title: 'PreviewCatalog' },
);

/** Source: docs/interface.md §13.5. */
export const WirePreview = Type.Object(
  {
    found: Type.Record(Type.String(), Type.String(), {
      description: 'what was found out about the file: encoding, delimiter, path, record, sheet, feed',
    }),
    columns: Type.Array(Type.String(), { description: 'in the order of their first appearance' }),
    rows: Type.Array(
      Type.Object({
        number: Type.Integer(),
        values: Type.Record(Type.String(), Type.Unknown()),
        product: Type.Optional(Type.Unsafe<MappedProduct>(Type.Record(Type.String(), Type.Unknown()))),
        problems: Type.Optional(Type.Array(Problem)),
        isFiltered: Type.Optional(Type.Boolean()),
      }),
      { description: 'the first rows of the source' },
    ),
    suggestion: Type.Object({
      mapping: SentMappingSchema,
      reasons: Type.Array(
        Type.Object({
          field: Type.String(),
          column: Type.String(),
          by: Type.Enum(['format', 'name', 'values']),
          confidence: Type.Enum(['high', 'medium', 'low'], {
            description: 'low: to be looked at before anything is imported',
          }),
          reason: Type.String({ description: 'why, in words' }),
        }),
      ),
      format: Type.Optional(
        Type.Object(
          { type: Type.String(), reason: Type.String() },
          { description: 'the file is written in another format than the one it was read as' },
        ),
      ),
    }),
    warnings: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
      description: 'what a person would notice in the products of the first 1,000 rows',
    }),
    catalog: Type.Optional(WirePreviewCatalog),
  },
  { title: 'PipelinePreview' },
);
