export type OutboundReason =
  | 'url'
  | 'address'
  | 'connection'
  | 'timeout'
  | 'refused'
  | 'no_file'
  | 'changed'
  | 'broken_off';

/**
 * Why an address outside could not be reached, in words for the person who gave it. No text holds the value of a header or
 * the query of a URL: both may be secret. `Reason`: callers have further ones.
 */
export class OutboundProblem<Reason extends string = OutboundReason> extends Error {
  override readonly name = 'OutboundProblem';
  readonly reason: Reason;
  /** For the log of the service, not for that person: names of a private network are not shown to callers. */
  readonly note: string | undefined;

  constructor(reason: Reason, message: string, { note, cause }: { note?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.reason = reason;
    this.note = note;
  }
}
