import type { Defined } from '../../definitions/definitions.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import type { Format } from '../formats/formats.ts';
import type { Mapping, PipelineMode } from '../mapping/mapping.ts';
import type { Source, SourceStamp } from '../sources/sources.ts';

/** Source: docs/interface.md §13.3. */
export type Trigger =
  | { readonly type: 'manual' }
  | { readonly type: 'schedule'; readonly cron: string; readonly timeZone: string }
  | { readonly type: 'webhook'; readonly minSecondsBetween: number };

/** What an invalid row does to a run: fail it, be skipped, or be skipped up to a share of all rows. */
export type RejectedRowPolicy = 'stop' | 'continue' | number;

/** Source: docs/interface.md §13.1, with its defaults filled in. */
export interface PipelineDefinition {
  readonly name: string;
  readonly source: Source;
  readonly format: Format;
  /** Absent where the format has one of its own. */
  readonly mapping?: Mapping | undefined;
  readonly mode: PipelineMode;
  /** In mode links: whose links are replaced. */
  readonly relationId?: number | undefined;
  readonly trigger: Trigger;
  readonly maxDeletePercent: number;
  readonly onRejectedRow: RejectedRowPolicy;
  /** A run that reads fewer products changes nothing. */
  readonly minProducts: number;
}

/** What the service notes of a pipeline. */
export interface PipelineState {
  /** The last part of the webhook's URL. */
  readonly triggerId: string;
  /** Recognises an unchanged source. */
  readonly stamp: SourceStamp | undefined;
}

export type Pipeline = Defined<PipelineDefinition, PipelineState>;

export type RunStart = 'manual' | 'upload' | 'schedule' | 'webhook';

/** An uploaded file, kept until its run has ended: in pieces, so that it is never in memory as a whole. */
export interface UploadedFile {
  readonly name: string;
  readonly mediaType: string | undefined;
  readonly charset: string | undefined;
  readonly sizeBytes: number;
  /** Payloads, in order. */
  readonly pieces: readonly string[];
}

/** Of a run, so far. */
export interface RunCounts {
  readonly rows: number;
  readonly products: number;
  readonly filtered: number;
  readonly rejected: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** The source has not changed since the last run. */
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

/** What was read from a source, and what was rejected. */
export interface ReadSummary extends BatchCounts {
  readonly stamp: SourceStamp | undefined;
  /** The first lines of the report; the others are only counted. */
  readonly report: readonly ReportLine[];
  readonly unreported: number;
  /** Of the pipeline as it was read. */
  readonly revision: number;
}
