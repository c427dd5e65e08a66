import { markOf } from '../../storage/storage.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import type { Format } from '../formats/formats.ts';
import type { Mapping, PipelineMode } from '../mapping/mapping.ts';
import type { Source, SourceStamp } from '../sources/sources.ts';

/** Source: docs/interface.md §13.3. */
export type Trigger =
  | { readonly type: 'manual' }
  | { readonly type: 'schedule'; readonly cron: string; readonly timeZone: string }
  | { readonly type: 'webhook'; readonly minSecondsBetween: number };

/** What a row without a product does to a run: it ends it, it is left out, or it is until their share is larger. */
export type RejectedRowPolicy = 'stop' | 'continue' | number;

/** Source: docs/interface.md §13.1, with its defaults filled in. */
export interface PipelineDefinition {
  readonly name: string;
  readonly source: Source;
  readonly format: Format;
  /** Absent where the format has one of its own. */
  readonly mapping?: Mapping | undefined;
  readonly mode: PipelineMode;
  readonly trigger: Trigger;
  readonly maxDeletePercent: number;
  readonly onRejectedRow: RejectedRowPolicy;
  /** A run that finds fewer changes nothing. */
  readonly minProducts: number;
}

export interface Pipeline {
  readonly id: number;
  readonly projectId: number;
  readonly definition: PipelineDefinition;
  /** Raised by each change, from 1. */
  readonly revision: number;
  readonly triggerId: string;
  /** The last accepted call of the webhook. */
  readonly triggeredAt: number | undefined;
  /** Of a schedule: when it is due. */
  readonly nextRunAt: number | undefined;
  readonly stamp: SourceStamp | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Of what a person has written: each change has an instant of its own. Source: docs/interface.md §7.6. */
export const markOfPipeline = ({ id, updatedAt }: Pick<Pipeline, 'id' | 'updatedAt'>): string =>
  markOf([id, updatedAt]);

export type RunStart = 'manual' | 'upload' | 'schedule' | 'webhook';

/** A file that was sent in, kept until its run ended: in pieces, so that nothing holds it whole. */
export interface UploadedFile {
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly charset: string | undefined;
  readonly sizeBytes: number;
  /** Payloads, in their order. */
  readonly pieces: readonly string[];
}

/** Of a run, as far as it came. */
export interface RunCounts {
  readonly rows: number;
  readonly products: number;
  readonly filtered: number;
  readonly rejected: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** The source is what it was at the last run. */
  readonly nothingNew?: true;
}

export const NO_COUNTS: RunCounts = {
  ...{ rows: 0, products: 0, filtered: 0, rejected: 0 },
  ...{ created: 0, changed: 0, unchanged: 0, deleted: 0 },
};

/** A definition to be tried; without a mapping one is suggested. */
export type TriedDefinition = Pick<PipelineDefinition, 'source' | 'format' | 'mapping' | 'mode'>;

export interface BatchCounts {
  readonly rows: number;
  readonly products: number;
  readonly filtered: number;
  readonly rejected: number;
}

/** What was read of a source, and what of it was rejected. */
export interface ReadSummary extends BatchCounts {
  readonly stamp: SourceStamp | undefined;
  /** The first lines of the report; the rest is counted. */
  readonly report: readonly ReportLine[];
  readonly unreported: number;
  /** Of the pipeline that was read. */
  readonly revision: number;
}
