/** What a definition says of a bucket, and what a schema cannot say is wrong with it. Source: docs/interface.md §13.1. */
import { Type } from 'typebox';
import { checkHttpUrl, readHttpUrl, URL_LENGTH } from '../http-url.ts';
import type { SecretMembers } from '../secret-members.ts';
import type { S3Place } from './s3-requests.ts';

export const s3BucketOptions = {
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
};

export const s3AccessOptions = {
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
};

/** @returns what is wrong with an endpoint; undefined when nothing is */
export function checkS3Endpoint(endpoint: string): string | undefined {
  const problem = checkHttpUrl(endpoint);
  if (problem !== undefined) return problem;
  return /[?#]/.test(endpoint) ? 'An endpoint has no query and no fragment' : undefined;
}

export const s3Secrets: SecretMembers<Pick<S3Place, 'endpoint'>> = {
  members: ['secretAccessKey'],
  sentTo: ({ endpoint }) => (checkHttpUrl(endpoint) === undefined ? readHttpUrl(endpoint).origin : undefined),
};
