import { isMissing, isUnsupported, type SftpCalls } from './sftp-calls.ts';

/** Sent before the first one is answered. */
const WRITES_AHEAD = 16;

/**
 * Writes under a hidden name and renames in the end: whoever looks sees the old file or the new one, never a part. Where the
 * server does not know OpenSSH's rename there is a moment without a file.
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

/** In one step where the server knows OpenSSH's extension; SFTP 3 alone renames over no file that is there. */
async function replace(calls: SftpCalls, draft: string, path: string): Promise<void> {
  if (await renameOver(calls, draft, path)) return;
  await removePath(calls, path);
  await calls.ask<void>(path, (done) => calls.sftp.rename(draft, path, done));
}

/** @returns false where the server does not know how. @throws OutboundProblem; then the old file is there */
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
    if (isUnsupported(error)) return false;
    throw error;
  }
}

/** One that is not there is removed already. */
export async function removePath(calls: SftpCalls, path: string): Promise<void> {
  await calls.ask<void>(path, (done) => calls.sftp.unlink(path, done)).catch(ignoreMissing);
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

function draftOf(path: string): string {
  const at = path.lastIndexOf('/') + 1;
  return `${path.slice(0, at)}.${path.slice(at)}.part`;
}
