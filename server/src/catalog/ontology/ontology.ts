/**
 * The door of the ontology: attributes with types and units, the facts they make of raw values, and what a change of them
 * means for a catalog.
 */

export * from './answer-writer.ts';
export * from './attribute.ts';
export * from './coverage.ts';
export * from './extraction.ts';
export * from './ontology-change.ts';
export * from './ontology-draft.ts';
export * from './units.ts';
