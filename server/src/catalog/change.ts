import type { Actor } from '../projects/projects.ts';

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

/** Who made a change, as the list of commits says it. */
export interface ChangeAuthor {
  readonly type: Actor['type'] | 'pipeline';
  readonly id: number | null;
  readonly name: string;
}

/** What a commit or delete leaves in the undo log. */
export interface UndoOrder {
  readonly keptCommits: number;
  /** Older entries are dropped; absent: whatever their age. */
  readonly keptSince?: number | undefined;
  /** Absent: accepted by an earlier version. */
  readonly author?: ChangeAuthor | undefined;
}

/** What is to be undone. Commits have the numbers of their tasks. */
export interface RestoreOrder {
  /** The oldest to be undone, with all after it; absent: the last one. */
  readonly commit?: number | undefined;
  /** Nothing is undone when another one is the last by now. */
  readonly ifLast?: number | undefined;
}

/** An entry of the undo log. */
export interface KeptCommit {
  readonly id: number;
  readonly at: number;
  readonly kind: 'commit' | 'delete';
  /** null: of an earlier version. */
  readonly author: ChangeAuthor | null;
  readonly catalogVersion: number | null;
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
}

export type Stale = { readonly stale: true };

/** Of a product, by a commit or delete. */
export type KeptKind = 'created' | 'changed' | 'deleted';

/** A product before a commit or delete, and after. */
export interface KeptChange {
  readonly productId: number;
  readonly identifier: string;
  readonly kind: KeptKind;
  /** JSON of the upload. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether an update changed it again: `after` is what the next kept commit found, or what there is now. */
  readonly isChangedSince: boolean;
}

/** The changes of a commit behind a place. */
export interface KeptPage {
  readonly commit: number;
  readonly kind?: KeptKind | undefined;
  readonly after: KeptPlace;
  readonly limit: number;
}

/** Created products come last; each part is in the order of the products' ids. */
export interface KeptPlace {
  readonly part: 'present' | 'created';
  readonly productId: number;
}

/** What a restore would do to the catalog. */
export interface RestoreEffect {
  /** How many commits and deletes it would undo. */
  readonly commits: number;
  readonly last: number;
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
  /** Products that were changed after the commits, which would be overwritten. */
  readonly changedSince: number;
}

/** A restore finds another last commit than its caller did. */
export interface OtherLast {
  readonly last: number;
}

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
