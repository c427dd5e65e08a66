// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CHANNEL_SECRETS,
  type ChannelDefinition,
} from '../../src/channels/channel-definitions/channel-definitions.ts';
import { openStored } from '../../src/definitions/definitions.ts';
import { ServiceError } from '../../src/kernel/errors.ts';
import {
  PIPELINE_SECRETS,
  type PipelineDefinition,
} from '../../src/pipelines/pipeline-definitions/pipeline-definitions.ts';

const SFTP = { type: 'sftp', host: 'shop.test', user: 'feed', password: '***', path: '/a', folder: '/a' };
const secretsThatThrow = (error: Error) => ({
  canSeal: true,
  mark: undefined,
  seal: () => '',
  unseal(): string {
    throw error;
  },
});
/** A definition that contains only the fields with a secret. */
const sendingTo = (target: object) =>
  ({ destinations: [target] }) as Pick<ChannelDefinition, 'destinations'> as ChannelDefinition;
const readingFrom = (source: object) =>
  ({ source }) as Pick<PipelineDefinition, 'source'> as PipelineDefinition;
const channel = { id: 1, projectId: 1, sealed: 'x', definition: sendingTo(SFTP) };
const pipeline = { id: 1, projectId: 1, sealed: 'x', definition: readingFrom(SFTP) };

test('if a change sends all secrets again, unreadable stored ones are not needed (§16.8 rule 6, §13.1)', () => {
  const unreadable = secretsThatThrow(new ServiceError('secret_unreadable'));
  const sent = { ...SFTP, password: 'new' };
  const channelNeeds = CHANNEL_SECRETS.hasMasked(sendingTo(sent));
  const pipelineNeeds = PIPELINE_SECRETS.hasMasked(readingFrom(sent));
  const openChannel = (secrets: typeof unreadable) =>
    openStored(CHANNEL_SECRETS, channel, { secrets, isNeeded: channelNeeds });
  const openPipeline = (secrets: typeof unreadable) =>
    openStored(PIPELINE_SECRETS, pipeline, { secrets, isNeeded: pipelineNeeds });
  assert.equal(openChannel(unreadable).destinations[0], SFTP);
  assert.equal(openPipeline(unreadable).source, SFTP);
  const fault = secretsThatThrow(new TypeError('a fault of the service'));
  assert.throws(() => openChannel(fault), TypeError);
  assert.throws(() => openPipeline(fault), TypeError);
});
