/**
 * The door of the ontology: attributes with types and units, the facts that they make of raw values, and the
 * effects of changes on a catalog.
 */

export * from './answer-writer.ts';
export * from './attribute.ts';
export * from './coverage.ts';
export * from './extraction.ts';
export * from './ontology-change.ts';
export * from './ontology-draft.ts';
export * from './units.ts';
