/** The door of drafts: what the values of unknown attributes look like, and the attributes that a full update creates for them. */

export {
  type DraftedAttribute,
  type DraftSettings,
  describeCreated,
  describeDefinition,
  draftAttribute,
} from './attribute-draft.ts';
export {
  CODE_DIGITS,
  isSurelyText,
  joinObservations,
  joinObserved,
  type Observations,
  type Observed,
  observeValue,
} from './observed-values.ts';
