/**
 * The door of the ontology: attributes with types and units, the facts that they make of raw values, and the
 * effects of changes on a catalog.
 */

export { AnswerWriter, MOST_UNKNOWN_KEYS } from './answer-writer.ts';
export {
  type Attribute,
  type AttributeRow,
  describeNotExtracted,
  indexByKey,
  isBlank,
  isFact,
  isWaiting,
  NUMBER_FORMS,
  type Ontology,
  type OntologyMode,
  readMeasure,
  readPlain,
  readValue,
  type StoredOntology,
  splitMeasure,
  toOntology,
} from './attribute.ts';
export { planChange, tallyCoverage, tallyEffect } from './coverage.ts';
export {
  createExtractor,
  describeFacts,
  describeUnextracted,
  type ExtractionListener,
  type Extractor,
  explainDropped,
  listFacts,
  type Unextracted,
} from './extraction.ts';
export {
  type AttributeUse,
  applyRenames,
  checkOntology,
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
export {
  CODE_DIGITS,
  type DraftedAttribute,
  type DraftSettings,
  describeCreated,
  describeDefinition,
  draftAttribute,
  isSurelyText,
  joinObservations,
  joinObserved,
  type Observations,
  type Observed,
  observeValue,
} from './ontology-draft.ts';
export {
  addPlain,
  computeInBase,
  convertToBase,
  dimensionOf,
  isSameUnit,
  type Measure,
  type MeasureTerm,
  nameInTable,
  type Rounding,
  solveMeasure,
  type UnitAliases,
} from './units.ts';
