import type { CatalogParts } from '../catalog-parts.ts';
import { BatchAcceptance } from './batch-acceptance.ts';
import { CommitStart } from './commit-start.ts';
import { FailedBatches } from './failed-batches.ts';
import { FullUpdateCommit } from './full-update-commit.ts';
import { FullUpdateEnd } from './full-update-end.ts';
import { FullUpdateSessions } from './full-update-sessions.ts';
import { RepeatChecks } from './repeat-checks.ts';
import { SessionChoice } from './session-choice.ts';
import { StagedPreview } from './staged-preview.ts';
import type { Staging } from './staging.ts';

/**
 * The full updates that callers and tasks fill, from initiate until they are committed or discarded. Source:
 * docs/interface §4.4.
 */
export type FullUpdates = ReturnType<typeof createFullUpdates>;

export function createFullUpdates(parts: CatalogParts, staging: Staging) {
  const choice = new SessionChoice(parts.database);
  const failedBatches = new FailedBatches(parts);
  const ends = new FullUpdateEnd(parts, staging);
  const commit = new FullUpdateCommit(parts, staging, ends);
  const batches = new BatchAcceptance(parts, { choice, failedBatches, staging });
  const preview = new StagedPreview(parts, staging, choice);
  return {
    definitions: [batches.task, commit.task] as const,
    sessions: new FullUpdateSessions(parts, { choice, failedBatches, ends }),
    batches,
    preview,
    starts: new CommitStart(parts, { choice, failedBatches, preview, commit }),
    commit,
    ends,
    failedBatches,
    repeats: new RepeatChecks(parts),
  };
}
