import { Type } from 'typebox';
import type { ByteStream } from '../../formats/streams/streams.ts';
import { checkS3Endpoint, S3, s3AccessOptions, s3BucketOptions, s3Secrets } from '../../outbound/s3/s3.ts';
import { boundBytes, tooLarge, undoEncodings } from './byte-streams.ts';
import { compileGlob, GLOB_LENGTH, globProblem } from './glob.ts';
import { type FileChoice, openMatching, takeOption } from './matching-files.ts';
import { defineSource, type OpenedSource, openOrClose, outboundOf } from './source.ts';

export const s3 = defineSource({
  type: 's3',
  title: 'S3Source',
  label: 'A bucket of S3 or a compatible server',
  description: 'Objects of a bucket of Amazon S3, or of a server that speaks its protocol',
  options: {
    ...s3BucketOptions,
    key: Type.String({
      minLength: 1,
      maxLength: GLOB_LENGTH,
      'x-label': 'Key',
      description:
        'key of an object, or of several objects with *, ? and ** for folders, such as export/*.csv. Several objects need the permission to list the bucket',
    }),
    ...s3AccessOptions,
    take: takeOption('objects in the order of their keys'),
  },
  check: ({ endpoint, key }) => ({ endpoint: checkS3Endpoint(endpoint), key: globProblem(key) }),
  open(source, run, settings) {
    const { maxPackedBytes: maxBytes, maxUnpackedBytes } = settings;
    const { key, take } = source;
    const s3 = new S3(source, outboundOf(settings));
    const reading = { take, maxBytes, maxUnpackedBytes, last: run.last, where: addressOf(source) };
    if (!/[*?]/.test(key)) return openObject(s3, key, reading);
    const names = findObjects(s3, key);
    return openMatching({ names, read: (object) => readListed(s3, object, reading) }, reading);
  },
  describe: (source) => addressOf(source),
  secrets: s3Secrets,
});

const addressOf = ({ endpoint, bucket, key }: { endpoint: string; bucket: string; key: string }) =>
  `${key} in the bucket ${bucket} at ${URL.parse(endpoint)?.host}`;

type S3Reading = FileChoice & { readonly maxUnpackedBytes: number };
type S3Read = NonNullable<Awaited<ReturnType<S3['read']>>>;

/** @returns undefined if the ETag is that of the last run. @throws SourceProblem; reading throws it too */
async function openObject(s3: S3, key: string, reading: S3Reading): Promise<OpenedSource | undefined> {
  const read = await s3.read(key, { ifNoneMatch: reading.last?.etag });
  if (read === undefined) return undefined;
  return openOrClose(read.close, () => {
    const { etag, 'content-encoding': encoding } = read.headers;
    // Some servers ignore the condition.
    if (etag !== undefined && etag === reading.last?.etag) return undefined;
    const sizeBytes = encoding === undefined ? read.sizeBytes : undefined;
    const file = { name: key, sizeBytes, bytes: readAnswer(read, reading) };
    return { files: [file], stamp: etag === undefined ? undefined : { etag } };
  });
}

/** Yields once for each key; undefined for a key that does not match. */
async function* findObjects(s3: S3, pattern: string) {
  const glob = compileGlob(pattern);
  const prefix = /^[^*?]*/.exec(pattern)?.[0] ?? '';
  for await (const { key: name, sizeBytes, modifiedAt, etag } of s3.list(prefix)) {
    const mark = [sizeBytes, modifiedAt, etag];
    yield glob.matches(name) ? { name, sizeBytes, modifiedAt, etag, mark } : undefined;
  }
}

/** Fetches an object when reading reaches it. */
async function* readListed(s3: S3, { name, etag }: { name: string; etag: string }, reading: S3Reading) {
  const read = await s3.read(name, { ifMatch: etag });
  if (read !== undefined) yield* readAnswer(read, reading);
}

function readAnswer(read: S3Read, { maxBytes, maxUnpackedBytes }: S3Reading): ByteStream {
  if ((read.sizeBytes ?? 0) > maxBytes) throw tooLarge('The object', maxBytes);
  // The encoding aws-chunked belongs to the upload to the server, which has already undone it.
  const encoding = read.headers['content-encoding']?.replace(/aws-chunked\s*,?/, '').trim();
  return undoEncodings(boundBytes(read.bytes, maxBytes, 'The object'), encoding, maxUnpackedBytes);
}
