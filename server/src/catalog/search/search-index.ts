/**
 * The index of search: the lexemes of every document, made when somebody first searches and brought up to date after every
 * change from then on, so that updates pay nothing for it before. It follows documents, which never change: rows of documents
 * that are gone lead nowhere, and a restored product is found by its former document.
 */
export interface SearchState {
  /** Documents up to this one are in the index. */
  readonly lastDocument: number;
  readonly newestDocument: number;
  /** Of the catalog, when it was last complete; documents of open full updates come without a version. */
  readonly version: number;
  readonly presentVersion: number;
}

/** How the index grows and shrinks, a row of `search_walk`. */
export interface SearchWalk {
  readonly lastDocument: number;
  readonly version: number;
  readonly documents: number;
  /** Documents added since the rows of removed ones were last looked for. */
  readonly untidied: number;
  /** How far these were looked for; 0: nobody does. */
  readonly tidiedUpTo: number;
}

export interface SearchStep {
  /** Whether nothing that readers can see is missing. */
  readonly isComplete: boolean;
  readonly isTidy: boolean;
}

export const NEW_WALK: SearchWalk = { lastDocument: 0, version: 0, documents: 0, untidied: 0, tidiedUpTo: 0 };
/** Documents a step: about 120 ms, in which an update of the project waits. */
export const SEARCH_STEP = 2_000;
export const TIDY_STEP = 5_000;
/** Documents beyond the index that a search looks at itself. */
export const TAIL = 500;

/** Rows of removed documents cost a search a little each, and looking for them reads the whole index. */
export const needsTidying = ({ untidied, documents, tidiedUpTo }: SearchWalk): boolean =>
  tidiedUpTo > 0 || untidied > documents / 4 + 10_000;

export const isUpToDate = (state: SearchState): boolean =>
  state.version === state.presentVersion || state.lastDocument >= state.newestDocument;

export const isInReach = (state: SearchState): boolean =>
  isUpToDate(state) || state.newestDocument - state.lastDocument <= TAIL;

export const describeProgress = (state: SearchState | undefined): string =>
  `${state?.lastDocument ?? 0} of ${state?.newestDocument ?? 'all'} product versions are in the index`;
