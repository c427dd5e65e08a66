/**
 * The door of memberships: which products stand on which side of which relation, by keys that sort as values do.
 */
export { UNMATCHED_KEY } from './index-key.ts';
export { type GroupedDocument, placeMembers } from './member-columns.ts';
export { type BuildRule, Memberships } from './member-derivation.ts';
export {
  COMPARED_COLUMNS,
  comparedAt,
  createJudge,
  describeCut,
  type EncodedProbe,
  findProbes,
  isMatch,
  listCutBuilds,
  listMembers,
  type MemberRow,
  type Membership,
  type PackedMembership,
  type PairJudgement,
  type PlacedMemberships,
  type PlacedRow,
  packMembership,
  packMemberships,
  sideNumber,
  splitDerived,
  unpackMember,
  unpackMemberships,
} from './membership.ts';
export {
  type Binding,
  type BuildOrder,
  type BuildPage,
  chooseWalked,
  type DerivedDocument,
  derivePage,
  describePage,
  type ExtendedDocument,
  isUnbuilt,
  type PlannedBuild,
  planBinding,
  planExtension,
  type RelationRow,
  type ServedRelation,
  type ServedRow,
  toRelation,
  toServed,
  type WalkedDocument,
} from './relation-plan.ts';
export { createRelationBuilds } from './relation-tasks.ts';
export { ENTRIES_PER_PRODUCT, planIndex, type RuleIndex } from './rule-index.ts';
