/**
 * The door of memberships: derives the sides of relations that products are on, with keys whose bytes sort
 * like values.
 */
export { UNMATCHED_KEY } from './index-key.ts';
export {
  listEncoded,
  MEMBER_NUMBERS,
  type MemberColumns,
  placeLists,
  placeMembers,
} from './member-columns.ts';
export { type BuildRule, listRead, Memberships } from './member-derivation.ts';
export {
  COMPARED_COLUMNS,
  createJudge,
  describeCut,
  type EncodedProbe,
  findProbes,
  type GroupedDocument,
  isMatch,
  isMember,
  listCutBuilds,
  listMembers,
  type MemberRow,
  type Membership,
  type PackedMembership,
  type PairJudgement,
  type PlacedRow,
  packMemberships,
  type ServedRelation,
  sideNumber,
  splitDerived,
  unpackMember,
  unpackMemberships,
} from './membership.ts';
export { NumberedProduct } from './numbered-product.ts';
export { Numbers } from './numbering.ts';
export { type BuildOrder, type BuildPage, RelationBuilds, type WalkedPlace } from './relation-tasks.ts';
export { ENTRIES_PER_PRODUCT, planIndex, type RuleIndex } from './rule-index.ts';
