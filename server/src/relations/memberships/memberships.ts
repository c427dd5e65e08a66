/**
 * The door of memberships: which products stand on which side of which relation, by keys that sort as values do.
 */
export { UNMATCHED_KEY } from './member-key.ts';
export {
  COMPARED_COLUMNS,
  listMembers,
  type MemberRow,
  type PlacedMemberships,
  type PlacedRow,
  packDerived,
  sideNumber,
  unpackDerived,
} from './member-row.ts';
export {
  type BuildRule,
  isMatch,
  type Membership,
  Memberships,
  type PackedMembership,
  packMembership,
  packMemberships,
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
  planBinding,
  planExtension,
  type RelationRow,
  type ServedRelation,
  type ServedRow,
  toRelation,
  toServed,
  type WalkedDocument,
  type WantedBuild,
} from './relation-plan.ts';
export { createRelationBuilds } from './relation-tasks.ts';
