import { OutboundProblem } from '../outbound-problem.ts';
import { isAnswer, isMissing, type SftpCalls } from './sftp-calls.ts';
import { statPath } from './sftp-reading.ts';

/** Sent before the first one is answered. */
const WRITES_AHEAD = 16;

/**
 * Writes under a hidden name and renames in the end: whoever looks sees the old file or the new one, never a part. Where the
 * server does not take OpenSSH's rename there is a moment without a file.
 * @returns the size of the file
 */
export async function writePath(
  calls: SftpCalls,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { sftp } = calls;
  const draft = draftOf(path);
  const handle = await calls.ask<Buffer>(draft, (done) => sftp.open(draft, 'w', done));
  try {
    const total = await writeAhead(calls, { handle, draft }, bytes);
    await calls.ask<void>(draft, (done) => sftp.close(handle, done));
    await replace(calls, draft, path);
    return total;
  } catch (error) {
    calls.close(handle);
    sftp.unlink(draft, () => {});
    throw error;
  }
}

async function writeAhead(
  calls: SftpCalls,
  { handle, draft }: { handle: Buffer; draft: string },
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const ahead: Promise<void>[] = [];
  let total = 0;
  for await (const piece of bytes) {
    if (piece.length === 0) continue;
    const at = total;
    // Its own copy: the writer may use its buffer again before the server has answered.
    ahead.push(calls.send((done) => calls.sftp.write(handle, Buffer.from(piece), 0, piece.length, at, done)));
    total += piece.length;
    if (ahead.length >= WRITES_AHEAD) await calls.wait(draft, ahead.shift() as Promise<void>);
  }
  for (const written of ahead) await calls.wait(draft, written);
  return total;
}

/** In one step where the server takes OpenSSH's extension; SFTP 3 alone renames over no file that is there. */
async function replace(calls: SftpCalls, draft: string, path: string): Promise<void> {
  if (await renameOver(calls, draft, path)) return;
  const aside = asideOf(path);
  await moveAside(calls, path, aside);
  try {
    await rename(calls, path, { from: draft, to: path });
  } catch (error) {
    await putBack(calls, path, aside).catch(() => {
      throw describeAside(error, aside);
    });
    throw error;
  }
  // The new file is there, whatever becomes of the old one.
  await removePath(calls, aside).catch(() => {});
}

/** @returns false where the server does not know how, or refuses. @throws OutboundProblem where it did not answer */
async function renameOver(calls: SftpCalls, draft: string, path: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Of a call that nobody waits for any more.
  promise.catch(() => {});
  try {
    calls.sftp.ext_openssh_rename(draft, path, (error) => (error ? reject(error) : resolve()));
  } catch {
    // Nothing is sent to a server that did not announce the extension.
    return false;
  }
  try {
    await calls.wait(path, promise);
    return true;
  } catch (error) {
    // Some announce it, and replace no file that is there.
    if (isAnswer(error)) return false;
    throw error;
  }
}

async function moveAside(calls: SftpCalls, path: string, aside: string): Promise<void> {
  try {
    await statPath(calls, path);
  } catch (error) {
    // What a delivery moved aside that was broken off then is the only copy: it stays until the new file is there.
    return ignoreMissing(error);
  }
  await removePath(calls, aside);
  await rename(calls, path, { from: path, to: aside });
}

/** Also what a delivery that was broken off moved aside. */
const putBack = (calls: SftpCalls, path: string, aside: string): Promise<void> =>
  rename(calls, path, { from: aside, to: path }).catch(ignoreMissing);

function describeAside(error: unknown, aside: string): unknown {
  if (!(error instanceof OutboundProblem)) return error;
  const message = `${error.message}, the file that was there is ${aside} now`;
  return new OutboundProblem(error.reason, message, { cause: error.cause });
}

interface Renaming {
  readonly from: string;
  readonly to: string;
}

/** @param path in the words of a failure */
const rename = (calls: SftpCalls, path: string, { from, to }: Renaming): Promise<void> =>
  calls.ask<void>(path, (done) => calls.sftp.rename(from, to, done));

/** One that is not there is removed already. */
export async function removePath(calls: SftpCalls, path: string): Promise<void> {
  await calls.ask<void>(path, (done) => calls.sftp.unlink(path, done)).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

const draftOf = (path: string) => `${hide(path)}.part`;
const asideOf = (path: string) => `${hide(path)}.old`;

function hide(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  return `${path.slice(0, at)}.${path.slice(at)}`;
}
