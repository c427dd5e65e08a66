import { Type } from 'typebox';
import { checkHttpUrl, readHttpUrl, URL_LENGTH } from '../../outbound/outbound.ts';
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
    endpoint: Type.String({
      ...{ minLength: 1, maxLength: URL_LENGTH, 'x-label': 'Endpoint' },
      description: 'https://s3.eu-central-1.amazonaws.com, https://minio.example:9000',
    }),
    region: Type.Optional(
      Type.String({
        ...{ pattern: '^[a-z0-9-]{1,50}$', 'x-label': 'Region' },
        description: 'if it is left out: what the endpoint says, otherwise us-east-1',
      }),
    ),
    bucket: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$', 'x-label': 'Bucket' }),
    key: Type.String({
      ...{ minLength: 1, maxLength: GLOB_LENGTH, 'x-label': 'Key' },
      description:
        'of an object, or of several with *, ? and ** for folders, as in export/*.csv. Several need the right to list the bucket',
    }),
    accessKeyId: Type.String({ pattern: '^[!-~]{1,128}$', 'x-label': 'Access key id' }),
    secretAccessKey: Type.String({
      ...{ minLength: 1, maxLength: 1_024, 'x-label': 'Secret access key', 'x-secret': 'line' },
      description:
        'Answers show *** in its place; ***, sent back, keeps it as long as the origin of the endpoint stays',
    }),
    forcePathStyle: Type.Optional(
      Type.Boolean({
        description:
          'true: the bucket stands in the path; false: in the host name. If it is left out: in the host name at amazonaws.com, otherwise in the path',
      }),
    ),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching objects in the order of their keys (default), or the newest one alone',
      }),
    ),
  },
  check: ({ endpoint, key }) => ({ endpoint: checkEndpoint(endpoint), key: globProblem(key) }),
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
  secrets: {
    members: ['secretAccessKey'],
    sentTo: ({ endpoint }) =>
      checkHttpUrl(endpoint) === undefined ? readHttpUrl(endpoint).origin : undefined,
  },
});

function checkEndpoint(endpoint: string): string | undefined {
  const problem = checkHttpUrl(endpoint);
  if (problem !== undefined) return problem;
  return /[?#]/.test(endpoint) ? 'An endpoint has no query and no fragment' : undefined;
}

const addressOf = ({ endpoint, bucket, key }: { endpoint: string; bucket: string; key: string }) =>
  `${key} in the bucket ${bucket} at ${URL.parse(endpoint)?.host}`;
