/**
 * The door of the store of the index: the lexemes of every document, beside the catalog, in the same file or
 * database. Both engines run the same programs, in which statements that differ are side by side.
 */
export {
  createSearchStore,
  indexParserOperations,
  indexWriterOperations,
  openSearched,
  postgresIndexWriterOperations,
  type SearchedCatalog,
  type SearchStore,
} from './index-operations.ts';
export { TAIL } from './index-reads-store.ts';
