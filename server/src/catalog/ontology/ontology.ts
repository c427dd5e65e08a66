/**
 * The door of the ontology: attributes with types and units, the facts they make of raw values, and what a change of them
 * means for a catalog.
 */

export { AnswerWriter } from './answer-writer.ts';
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
export { CoverageTally, EffectTally, planChange } from './coverage.ts';
export {
  describeFacts,
  describeUnextracted,
  type ExtractionListener,
  Extractor,
  explainDropped,
  listFacts,
  type Unextracted,
} from './extraction.ts';
export type { RequestedAttribute } from './ontology-change.ts';
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
  type RequestedOntology,
  renameUses,
  type SentAttribute,
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
  type MeasureTerm,
  nameInTable,
} from './units.ts';
