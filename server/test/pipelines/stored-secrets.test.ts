import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStored as openChannel } from '../../src/channels/definitions/channel-secrets.ts';
import { ServiceError } from '../../src/kernel/errors.ts';
import { openStored as openPipeline } from '../../src/pipelines/definitions/pipeline-definitions.ts';

const SFTP = { type: 'sftp', host: 'shop.test', user: 'feed', password: '***', path: '/a', folder: '/a' };
const secretsThatThrow = (error: Error) => ({
  canSeal: true,
  mark: undefined,
  seal: () => '',
  unseal(): string {
    throw error;
  },
});
const channel = { id: 1, projectId: 1, sealed: 'x', definition: { destinations: [SFTP] } } as never;
const pipeline = { id: 1, projectId: 1, sealed: 'x', definition: { source: SFTP } } as never;

test('where all secrets are sent anew, only unreadable stored ones are done without (§16.8 rule 6, §13.1)', () => {
  const unreadable = secretsThatThrow(new ServiceError('secret_unreadable'));
  const sent = { ...SFTP, password: 'new' } as never;
  assert.equal(openChannel(channel, unreadable, [sent]), channel);
  assert.equal(openPipeline(pipeline, unreadable, sent), SFTP);
  const fault = secretsThatThrow(new TypeError('a fault of the service'));
  assert.throws(() => openChannel(channel, fault, [sent]), TypeError);
  assert.throws(() => openPipeline(pipeline, fault, sent), TypeError);
});
