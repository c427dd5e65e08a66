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
 * Why an outside address could not be reached, in a text for the person who configured it. The text never contains the
 * value of a header or the query of a URL, because both may be secret. `Reason`: callers of this room have further
 * reasons.
 */
export class OutboundProblem<Reason extends string = OutboundReason> extends Error {
  override readonly name = 'OutboundProblem';
  readonly reason: Reason;
  /** Only for the service's log, because callers must not see the names of a private network. */
  readonly note: string | undefined;

  constructor(reason: Reason, message: string, { note, cause }: { note?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.reason = reason;
    this.note = note;
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'is not known to the name servers',
  EAI_AGAIN: 'could not be looked up: the name servers do not answer',
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection before it answered',
  EPIPE: 'closed the connection before it answered',
  ETIMEDOUT: 'cannot be reached',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  HPE_HEADER_OVERFLOW: 'answered with headers that are too large',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that it signed itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an unknown authority',
};

/**
 * Describes a failed connection in texts of the service, because some errors of Node contain a part of the request.
 * @returns the error itself if no connection failed
 */
export function describeConnection(error: unknown, { host }: { readonly host: string }): unknown {
  const code = (error as { code?: unknown }).code;
  if (error instanceof OutboundProblem || typeof code !== 'string') return error;
  return new OutboundProblem('connection', `${host} ${TEXTS[code] ?? describeCode(code)}`, { cause: error });
}

function describeCode(code: string): string {
  if (code.startsWith('HPE_')) return 'does not answer according to HTTP';
  if (/SSL|TLS|CERT/.test(code)) return `could not be connected to securely (${code})`;
  return `could not be reached (${code})`;
}

/** How long the service waits for the other side, in milliseconds. */
export interface WaitLimits {
  /** For looking up the name, connecting and TLS. */
  readonly connectMs: number;
  /** Until the answer begins, and then between two pieces of it. */
  readonly idleMs: number;
  /** All waiting together, without the time that the service itself spends on a piece. */
  readonly wholeMs: number;
}

type Waiting = 'connect' | 'answer' | 'piece';

const WAITS: Readonly<Record<Waiting, string>> = {
  connect: 'could not be connected to',
  answer: 'did not begin to answer',
  piece: 'sent nothing more',
};

export type Timeouts = ReturnType<typeof createTimeouts>;

/** @param subject the subject of the texts, such as `The source` */
export function createTimeouts({ connectMs, idleMs, wholeMs }: WaitLimits, subject: string) {
  let leftMs = wholeMs;
  return {
    /**
     * Whether the whole time is used up, so that further waiting fails immediately. A timer may end a fraction of a
     * millisecond early.
     */
    areUsedUp: () => leftMs < 1,
    /** @throws OutboundProblem timeout; the caller must then abandon the work */
    async wait<Result>(what: Waiting, work: Promise<Result>): Promise<Result> {
      const ownMs = what === 'connect' ? connectMs : idleMs;
      const began = performance.now();
      let timer: NodeJS.Timeout | undefined;
      const expired = new Promise<never>((_, reject) => {
        const problem =
          ownMs < leftMs
            ? `${WAITS[what]} for ${ownMs / 1000} s`
            : `took longer than ${wholeMs / 1000} s in all`;
        const expire = () => reject(new OutboundProblem('timeout', `${subject} ${problem}`));
        timer = setTimeout(expire, Math.min(ownMs, leftMs));
      });
      try {
        return await Promise.race([work, expired]);
      } finally {
        clearTimeout(timer);
        leftMs = Math.max(0, leftMs - (performance.now() - began));
      }
    },
  };
}
