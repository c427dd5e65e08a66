import { Type } from 'typebox';
import {
  checkS3Endpoint,
  openS3,
  s3AccessOptions,
  s3BucketOptions,
  s3Secrets,
} from '../../outbound/outbound.ts';
import { checkFolder, defineDestination, folderOption, pathIn } from './destination.ts';

export const s3 = defineDestination({
  type: 's3',
  schema: Type.Object(
    {
      type: Type.Literal('s3'),
      ...s3BucketOptions,
      folder: folderOption('what keys begin with, as feeds/google; nothing if it is left out'),
      ...s3AccessOptions,
    },
    {
      ...{ additionalProperties: false, title: 'S3Destination' },
      'x-label': 'A bucket of S3 or a compatible server',
      description: 'Objects of a bucket, of Amazon S3 or a server that speaks its protocol',
    },
  ),
  check: ({ endpoint, folder = '' }) => ({
    endpoint: checkS3Endpoint(endpoint),
    folder: folder.startsWith('/')
      ? 'begins with no /: keys of objects have none there'
      : checkFolder(folder),
  }),
  async open({ type: _, folder, ...place }, via) {
    const { write, remove } = openS3(place, via);
    return {
      write: (name, bytes, contentType) => write(pathIn(folder, name), bytes, { contentType }),
      remove: (name) => remove(pathIn(folder, name)),
      close() {},
    };
  },
  describe: ({ endpoint, bucket, folder }) =>
    `${pathIn(folder, '') || 'the top'} of the bucket ${bucket} at ${URL.parse(endpoint)?.host}`,
  secrets: s3Secrets,
  accountOf: ({ bucket, accessKeyId }) => JSON.stringify([bucket, accessKeyId]),
});
