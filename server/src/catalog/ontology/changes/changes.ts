/**
 * The door of changes. They decide whether an ontology may replace the present one, rename attributes in the
 * definitions that use them, and count the effect of a change on the products of a catalog.
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
