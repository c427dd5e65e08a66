import type { createS3Requests } from './s3-requests.ts';

/** Each part but the last has at least 5 MiB, and an object at most 10,000: objects of 156 GiB. */
const PART_BYTES = 16 * 1024 * 1024;

export interface S3Upload {
  readonly key: string;
  readonly contentType?: string | undefined;
}

/**
 * Writes an object, in memory a part at a time: one PUT for up to 16 MiB, parts for more. The object is there as a whole or
 * not at all.
 * @returns its size
 */
export async function uploadToS3(
  requests: ReturnType<typeof createS3Requests>,
  { key, contentType = 'application/octet-stream' }: S3Upload,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const headers = { 'content-type': contentType };
  const parts = cutParts(bytes);
  try {
    const first = (await parts.next()).value ?? new Uint8Array();
    if (first.length < PART_BYTES) {
      const { response } = await requests.ask({ method: 'PUT', key, headers, body: first }, [200]);
      response.destroy();
      return first.length;
    }
    return await uploadParts(requests, { key, headers }, resume(first, parts));
  } finally {
    await parts.return(undefined);
  }
}

async function uploadParts(
  requests: ReturnType<typeof createS3Requests>,
  { key, headers }: { key: string; headers: Readonly<Record<string, string>> },
  parts: AsyncIterable<Uint8Array>,
): Promise<number> {
  const begun = await requests.askXml({ method: 'POST', key, query: { uploads: '' }, headers });
  const uploadId = begun.text('UploadId');
  const tags: string[] = [];
  let total = 0;
  try {
    for await (const body of parts) {
      const query = { partNumber: String(tags.length + 1), uploadId };
      const { response } = await requests.ask({ method: 'PUT', key, query, body }, [200]);
      tags.push(response.headers.etag ?? '');
      response.destroy();
      total += body.length;
    }
    await requests.askXml({ method: 'POST', key, query: { uploadId }, body: listParts(tags) });
    return total;
  } catch (error) {
    // Parts of an upload that nobody ends are kept, and paid for.
    await requests.clear({ method: 'DELETE', key, query: { uploadId } }).catch(() => {});
    throw error;
  }
}

function listParts(tags: readonly string[]): Uint8Array {
  const parts = tags.map(
    (tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag.replace(/[<>&]/g, '')}</ETag></Part>`,
  );
  return Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
}

async function* resume(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/** All but the last are full. */
async function* cutParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  let part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  for await (const piece of bytes) {
    for (let at = 0; at < piece.length; ) {
      const taken = Math.min(PART_BYTES - filled, piece.length - at);
      part.set(piece.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < PART_BYTES) continue;
      yield part;
      part = Buffer.allocUnsafe(PART_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}
