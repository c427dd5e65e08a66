/**
 * The door of drafts, which observe the values of unknown attributes and draft the attributes that a full update
 * creates.
 */

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
