/**
 * The door of the scan: a body of products is checked and its names are listed in one pass over its bytes, where it is
 * certainly valid. What is not is for the validator.
 */
export type { ScannedKey } from './attribute-scan.ts';
export { type ScannedBody, scanBody } from './body-scan.ts';
