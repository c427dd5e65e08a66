import { Type } from 'typebox';
import { checkS3Endpoint, s3AccessOptions, s3BucketOptions, s3Secrets } from '../../outbound/outbound.ts';
import { GLOB_LENGTH, globProblem } from './glob.ts';
import { outboundOf } from './remote-files.ts';
import { openS3Source } from './s3-source.ts';
import { defineSource } from './source-record.ts';

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
