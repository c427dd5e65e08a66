/**
 * The door of formats: the types of files that the service reads and writes. Each is a folder, in which reading
 * (`read-csv.ts`) and writing (`write-csv.ts`) are side by side, and a line in the list of each direction. A format
 * knows bytes, rows and fields. It never knows a catalog, a project or a database of the service.
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
