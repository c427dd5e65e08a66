import { OutboundProblem } from '../outbound-problem.ts';

/** Codes of SFTP 3, the version that every server supports (draft-ietf-secsh-filexfer-02, section 7). */
const STATUS = { endOfFile: 1, noSuchFile: 2, permissionDenied: 3 } as const;

/** The status in a server's answer, or in the cause of a problem. */
const statusOf = (error: unknown): unknown =>
  ((error instanceof OutboundProblem ? error.cause : error) as { code?: unknown })?.code;

export const isMissing = (error: unknown) => statusOf(error) === STATUS.noSuchFile;

/** Whether the server refused the call, instead of the call being interrupted. */
export const isRefusal = (error: unknown) =>
  error instanceof OutboundProblem && typeof statusOf(error) === 'number';

/** Handles a failed call. Returns undefined at the end of a file or list, and throws any other failure. */
export function orNothing(error: unknown): undefined {
  if (statusOf(error) !== STATUS.endOfFile) throw error;
}

/** Handles a failed call. Ignores a missing file, and throws any other failure. */
export function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/** The server's own message is not passed on. */
export function describeFile(error: unknown, host: string, path: string): unknown {
  if (error instanceof OutboundProblem) return error;
  const cause = { cause: error };
  if (isMissing(error)) return new OutboundProblem('no_file', `${host} has no ${path}`, cause);
  if (statusOf(error) === STATUS.permissionDenied)
    return new OutboundProblem('refused', `${host} does not allow the user to use ${path}`, cause);
  return new OutboundProblem('broken_off', `${host} broke the transfer of ${path} off`, cause);
}
