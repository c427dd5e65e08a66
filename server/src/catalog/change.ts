/** Changes of a catalog as whoever asks for one and every store have them. */

/** What a full update or a delete did to the catalog. */
export interface ChangeCounts {
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
}

/** The rows of a preview: how many, and the first of them by identifier. Source: docs/interface.md §4.4. */
export interface Difference {
  readonly present: number;
  readonly created: { readonly count: number; readonly identifiers: readonly string[] };
  readonly changed: { readonly count: number; readonly identifiers: readonly string[] };
  readonly unchanged: { readonly count: number; readonly identifiers: readonly string[] };
  readonly deleted: { readonly count: number; readonly identifiers: readonly string[] };
}

export interface StagedBatch {
  readonly batch: number;
  /** JSON: [name, {unit, isBoolean}][] */
  readonly observed: string;
  /** JSON: {revision, drafts: [name, definition][]} */
  readonly extractedBy: string;
}

/** When a catalog may lose products. */
export interface DeleteLimit {
  readonly maxDeletePercent: number;
  /** The exact number that the caller allows, whatever the percentage. */
  readonly allowDeletes?: number | undefined;
}

/** What every ordered change carries: its task, so that a repetition after a crash changes nothing. */
export interface ChangeOrder {
  readonly taskNumber: number;
  readonly at: number;
}

export type Stale = { readonly stale: true };

/** How a commit ended: done, refused by the delete guard, or to be prepared again. */
export type CommitResult =
  | {
      readonly kind: 'done';
      readonly counts: ChangeCounts;
    }
  | { readonly kind: 'guarded'; readonly present: number; readonly deleted: number }
  | { readonly kind: 'stale' };

export interface RestoreResult {
  readonly restored: number;
  readonly overwritten: readonly string[];
  /** Whether facts of restored products follow an older ontology. */
  readonly needsExtraction: boolean;
}
