/**
 * The door of mapping: from a product of the catalog to the fields of a format, and what is wrong with them. Pure.
 */
export { createRowMaker, type FieldProblem } from './row-maker.ts';
export {
  type ChannelMapping,
  type FieldSource,
  listNames,
  OWN_FIELDS,
  type OwnField,
  readTemplate,
} from './source.ts';
export { suggestMapping } from './suggestion.ts';
