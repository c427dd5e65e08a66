import type { AnswerOnce } from '../../http/http.ts';
import type { Caller } from '../../kernel/caller.ts';
import { describeChange, type Projects } from '../../projects/projects.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Channels } from '../channels.ts';
import type { Channel } from './channel.ts';
import type { FindBaseUrl } from './channel-answers.ts';

/** What the routes of channels need. */
export interface ChannelRouteParts {
  readonly channels: Channels;
  readonly answerOnce: AnswerOnce;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly findBaseUrl: FindBaseUrl;
}

interface ChannelChange {
  readonly tx: ControlTransaction;
  readonly caller: Caller;
  readonly action: 'created' | 'changed' | 'deleted' | 'built' | 'url-rotated';
  readonly channel: Channel;
  readonly before?: Channel | undefined;
}

/** Writes the entry of the audit log. */
export function recordChannelChange(
  { projects }: Pick<ChannelRouteParts, 'projects'>,
  { tx, caller: author, action, channel, before }: ChannelChange,
): Promise<void> {
  const { projectId, id, definition } = channel;
  const subject = { type: 'channel', id, name: definition.name };
  const details = before && describeChange(before.definition, definition);
  const change = { author, projectId, action: `channel.${action}`, subject };
  return projects.recordChange({ ...change, ...(details && { details }) }, tx);
}
