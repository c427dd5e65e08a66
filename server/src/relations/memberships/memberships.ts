/** The door of memberships: which products are on which side of which relation, by keys that sort like values. */
export { UNMATCHED_KEY } from './index-key.ts';
export * from './member-columns.ts';
export { type BuildRule, listRead, Memberships } from './member-derivation.ts';
export * from './membership.ts';
export { NumberedProduct } from './numbered-product.ts';
export { Numbers } from './numbering.ts';
export * from './relation-tasks.ts';
export { ENTRIES_PER_PRODUCT, planIndex, type RuleIndex } from './rule-index.ts';
