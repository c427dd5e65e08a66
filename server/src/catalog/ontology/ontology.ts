/** The door of the ontology: attributes with types and units, and the facts that raw values make under them. */

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
export {
  createExtractor,
  describeFacts,
  describeUnextracted,
  type ExtractionListener,
  type Extractor,
  explainDropped,
  type Fact,
  listFacts,
  type Unextracted,
} from './extraction.ts';
export { AttributeSchema, SentAttribute, SentOntology } from './ontology-schemas.ts';
