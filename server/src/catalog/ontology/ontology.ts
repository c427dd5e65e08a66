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
  type Ontology,
  type OntologyMode,
  readMeasure,
  readValue,
  type StoredOntology,
  toOntology,
} from './attribute.ts';
export { EffectTally, planChange } from './attribute-effect.ts';
export { CoverageTally } from './coverage.ts';
export {
  describeFacts,
  describeUnextracted,
  type ExtractionListener,
  Extractor,
  explainDropped,
  listFacts,
  type Unextracted,
} from './extraction.ts';
export { NUMBER_FORMS, readPlain, splitMeasure } from './number-text.ts';
export type { RequestedAttribute } from './ontology-change.ts';
export {
  checkOntology,
  identifyAttributes,
  isInPlace,
  isSameOntology,
  markOfOntology,
  type RequestedOntology,
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
  type AttributeUse,
  applyRenames,
  type ListNaming,
  listUses,
  type NamingDefinition,
  type Renames,
  renameUses,
  type SentAttribute,
} from './renames.ts';
export {
  addPlain,
  computeInBase,
  convertToBase,
  dimensionOf,
  isSameUnit,
  type MeasureTerm,
  nameInTable,
} from './units.ts';
