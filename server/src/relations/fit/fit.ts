/**
 * The door of fit: judges whether products can be used together, by relations that are constraints. A verdict
 * is "unknown" if values that it needs are missing.
 */
export { ConstraintCache, type FitCatalog } from './constraint-cache.ts';
export { answerFit, type FitInput, type FitParts } from './fit-answer.ts';
export { type FitAnswer, FitQuestion, type FitSelection, readQuestion } from './fit-schemas.ts';
export { surveyMissing } from './missing-values.ts';
export { NegativeValues, type SignedDocument, type SignedPage } from './negative-values.ts';
