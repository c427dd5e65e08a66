/**
 * The door of formats: the types of files that the service reads and writes. Each format is a folder with its reader
 * (`read-csv.ts`) and its writer (`write-csv.ts`), and an entry in the list of each direction. A format works with
 * bytes, rows and fields. It never uses a catalog, a project or a database of the service.
 */
export {
  DEFAULT_MAPPINGS,
  findDefaultMapping,
  getInputFormat,
  InputFormatSchema,
  type InputFormatSettings,
  readRows,
  type SourceReading,
} from './input-formats.ts';
export {
  describeOutputFormat,
  type FeedFiles,
  getOutputFormat,
  OUTPUT_FORMATS,
  planFiles,
} from './output-formats.ts';
