/**
 * The door of answers: a request for related products is planned, answered from memory or by threads, and sent in steps.
 */
export * from './made-answers.ts';
export * from './related-answers.ts';
