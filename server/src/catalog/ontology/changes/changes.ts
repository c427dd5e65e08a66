/**
 * The door of changes: the check whether an ontology may replace the present one, the renaming of attributes with the
 * definitions that name them, and the effect of a change on the products of a catalog.
 */

export { planChange, tallyCoverage, tallyEffect } from './coverage.ts';
export {
  type AttributeUse,
  applyRenames,
  checkOntology,
  documentOf,
  identifyAttributes,
  isInPlace,
  isSameOntology,
  type ListNaming,
  listUses,
  markOfOntology,
  type NamingDefinition,
  type Renames,
  type RequestedAttribute,
  type RequestedOntology,
  renameUses,
  writeAliases,
} from './ontology-change.ts';
