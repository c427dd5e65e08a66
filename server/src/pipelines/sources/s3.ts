import { Type } from 'typebox';
import {
  checkS3Endpoint,
  openS3,
  type S3,
  type S3Place,
  s3AccessOptions,
  s3BucketOptions,
  s3Secrets,
} from '../../outbound/outbound.ts';
import { type ByteStream, boundBytes, tooLarge, undoEncodings } from './byte-streams.ts';
import { compileGlob, GLOB_LENGTH, globProblem } from './glob.ts';
import { chooseFiles, outboundOf, type RemoteChoice, type RemoteFile, splitPattern } from './remote-files.ts';
import { defineSource, type OpenedSource, type SourceFile } from './source.ts';

export const s3 = defineSource({
  type: 's3',
  title: 'S3Source',
  label: 'A bucket of S3 or a compatible server',
  description: 'Objects of a bucket, of Amazon S3 or a server that speaks its protocol',
  options: {
    ...s3BucketOptions,
    key: Type.String({
      ...{ minLength: 1, maxLength: GLOB_LENGTH, 'x-label': 'Key' },
      description:
        'of an object, or of several with *, ? and ** for folders, as in export/*.csv. Several need the right to list the bucket',
    }),
    ...s3AccessOptions,
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching objects in the order of their keys (default), or the newest one alone',
      }),
    ),
  },
  check: ({ endpoint, key }) => ({ endpoint: checkS3Endpoint(endpoint), key: globProblem(key) }),
  open: (source, run, settings) =>
    openS3Source(
      source,
      {
        maxBytes: settings.maxPackedBytes,
        maxUnpackedBytes: settings.maxUnpackedBytes,
        last: run.last,
        where: addressOf(source),
      },
      outboundOf(settings, run),
    ),
  describe: (source) => addressOf(source),
  secrets: s3Secrets,
});

const addressOf = ({ endpoint, bucket, key }: { endpoint: string; bucket: string; key: string }) =>
  `${key} in the bucket ${bucket} at ${URL.parse(endpoint)?.host}`;

interface S3Source extends S3Place {
  /** With * and ** as patterns of a directory have. */
  readonly key: string;
  readonly take?: 'all' | 'newest';
}

interface S3Reading extends Omit<RemoteChoice, 'take'> {
  readonly maxUnpackedBytes: number;
}

type Via = Parameters<typeof openS3>[1];
type Read = NonNullable<Awaited<ReturnType<S3['read']>>>;

/**
 * Reads one object, or all that match a pattern in the order of their keys. One that changes meanwhile fails the run.
 * @returns undefined when the ETag, or keys, sizes and ETags, are those of the last run
 * @throws SourceProblem; reading throws it too
 */
function openS3Source(source: S3Source, reading: S3Reading, via: Via): Promise<OpenedSource | undefined> {
  const s3 = openS3(source, via);
  return splitPattern(source.key).pattern === undefined
    ? openObject(s3, source.key, reading)
    : openObjects(s3, source, reading);
}

async function openObject(s3: S3, key: string, reading: S3Reading): Promise<OpenedSource | undefined> {
  const read = await s3.read(key, { ifNoneMatch: reading.last?.etag });
  if (read === undefined) return undefined;
  try {
    const { etag } = read.headers;
    // Some servers do not look at the condition.
    if (etag === undefined || etag !== reading.last?.etag)
      return {
        files: [{ ...describeObject(key, read), bytes: readAnswer(read, reading) }],
        stamp: etag === undefined ? undefined : { etag },
        close: async () => read.close(),
      };
    read.close();
    return undefined;
  } catch (error) {
    read.close();
    throw error;
  }
}

async function openObjects(
  s3: S3,
  { key, take }: S3Source,
  reading: S3Reading,
): Promise<OpenedSource | undefined> {
  const chosen = await chooseFiles(findObjects(s3, key), { ...reading, take });
  if (chosen === undefined) return undefined;
  const files = chosen.files.map(({ name, sizeBytes, etag }): SourceFile => {
    const file = { name, mediaType: undefined, charset: undefined, sizeBytes };
    return { ...file, bytes: readListed(s3, { key: name, etag }, reading) };
  });
  return { files, stamp: chosen.stamp, close: async () => {} };
}

type S3RemoteFile = RemoteFile & { readonly etag: string };

/** Yields once for each key that was looked at; undefined for one that does not match. */
async function* findObjects(s3: S3, pattern: string): AsyncGenerator<S3RemoteFile | undefined> {
  const glob = compileGlob(pattern);
  const prefix = /^[^*?]*/.exec(pattern)?.[0] ?? '';
  for await (const { key, ...object } of s3.list(prefix))
    yield glob.matches(key) ? { name: key, ...object } : undefined;
}

/** Fetched when its turn comes. */
async function* readListed(
  s3: S3,
  { key, etag }: { key: string; etag: string },
  reading: S3Reading,
): ByteStream {
  const read = await s3.read(key, { ifMatch: etag });
  if (read !== undefined) yield* readAnswer(read, reading);
}

function readAnswer(read: Read, { maxBytes, maxUnpackedBytes }: S3Reading): ByteStream {
  if ((read.sizeBytes ?? 0) > maxBytes) throw tooLarge('The object', maxBytes);
  // How it was sent to the server, which has undone it.
  const encoding = read.headers['content-encoding']?.replace(/aws-chunked\s*,?/, '').trim();
  return undoEncodings(boundBytes(read.bytes, maxBytes, 'The object'), encoding, maxUnpackedBytes);
}

function describeObject(key: string, { headers, sizeBytes }: Read): Omit<SourceFile, 'bytes'> {
  return {
    name: key,
    mediaType: headers['content-type']?.split(';')[0]?.trim().toLowerCase().slice(0, 100),
    charset: undefined,
    sizeBytes: headers['content-encoding'] === undefined ? sizeBytes : undefined,
  };
}
