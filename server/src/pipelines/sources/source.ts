import { OutboundProblem } from '../../outbound/outbound.ts';

/** A file that a pipeline reads, whatever its source. Its bytes can be read once; they may be packed (`unpack.ts`). */
export interface SourceFile {
  /** For logs, reports and guesses; never a path to open. */
  readonly name: string;
  /** In lower case and without parameters, as `text/csv`; undefined where nobody said. */
  readonly mediaType: string | undefined;
  /** As the sender named it, as `iso-8859-1`. */
  readonly charset: string | undefined;
  /** As announced; undefined when the sender does not know, and then its length does not show whether it is complete. */
  readonly sizeBytes: number | undefined;
  /** Fails with a SourceProblem, also in the middle of a file. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface OpenedSource {
  /** At least one, to be read one after another in this order, as if they were one file. */
  readonly files: readonly SourceFile[];
  /** To be kept when the run has ended well, and handed in at the next one. */
  readonly stamp: SourceStamp | undefined;
  /** Lets go of what was not read. May be called more than once. */
  close(): Promise<void>;
}

/**
 * By what a source is recognised as unchanged. It says nothing about the pipeline: whoever changes a definition has to
 * forget the stamp, or the new definition never meets the old file.
 */
export interface SourceStamp {
  readonly etag?: string;
  readonly lastModified?: string;
  /** Digest of names, sizes and instants of the files of a directory, a server by SFTP or a bucket. */
  readonly files?: string;
}

export type SourceReason =
  | 'url'
  | 'address'
  | 'connection'
  | 'redirect'
  | 'status'
  | 'timeout'
  | 'too_large'
  | 'broken_off'
  | 'damaged'
  | 'archive'
  | 'no_file'
  | 'outside'
  | 'refused'
  | 'changed';

/** Why a source cannot be read, in words for the owner of the pipeline. */
export const SourceProblem = OutboundProblem<SourceReason>;
export type SourceProblem = OutboundProblem<SourceReason>;
