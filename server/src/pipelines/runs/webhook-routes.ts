import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ErrorAnswer } from '../../http/answers/answers.ts';
import { chargeRequest, type Guards, readPresentedKey } from '../../http/guards/guards.ts';
import { type Routes, type RouteTools, serve } from '../../http/server/server.ts';
import { allows, type Caller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Found } from '../../projects/projects.ts';
import { type Pipeline, TriggeredAnswer, toTriggered } from '../pipeline-definitions/pipeline-definitions.ts';
import type { Pipelines } from '../pipelines.ts';

interface WebhookRouteParts extends RouteTools {
  readonly pipelines: Pipelines;
  readonly guards: Pick<Guards, 'findCaller' | 'countRequest'>;
}

const refusal = (description: string) => ({ ...ErrorAnswer, description });
const failures = {
  '4xx': ErrorAnswer,
  401: refusal('Missing authorization header, or Wrong authentication credentials'),
  404: refusal('no pipeline has this URL now'),
  429: refusal('the pipeline is running, or its last call was too recent; `Retry-After` is the time to wait'),
};

/** Source: docs/interface §4.9, §5.5. */
export const webhookRoutes =
  ({ pipelines, guards, answerOnce }: WebhookRouteParts): Routes =>
  (server) => {
    const webhookByRequest = new WeakMap<FastifyRequest, Found<Pipeline>>();

    /** Checks in the order of §4.9 rule 9: the URL, the credentials, then the rate. */
    async function check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      reply.header('cache-control', 'no-store');
      const { triggerId } = request.params as { triggerId: string };
      const webhook = await pipelines.findWebhook(triggerId);
      if (webhook === undefined) throw new ServiceError('not_found');
      request.caller = await findOwner(guards, request, webhook);
      await chargeRequest(guards, request, reply);
      webhookByRequest.set(request, webhook);
    }

    serve(server, 'POST /etl-triggers/webhook/:triggerId', {
      config: { guard: 'own', access: 'write', body: 'ignored', hidesOtherMethods: true, isOnce: true },
      tags: ['Webhook'],
      summary: 'Start a pipeline whose trigger is a webhook',
      description:
        'Copy the complete URL from the trigger of the pipeline. The key is an account key with the access write or manage, in the header. The body and the parameters are ignored.',
      params: Type.Object({ triggerId: Type.String() }),
      answer: { 200: TriggeredAnswer },
      failures,
      hooks: { onRequest: check },
      async handle(request) {
        const webhook = webhookByRequest.get(request);
        if (webhook === undefined) throw new Error('the webhook of the request was not found before it');
        return answerOnce(request, async (record) => {
          const task = await pipelines.trigger(webhook, async (tx, accepted) => {
            const run = { what: 'run', resource: webhook.resource, details: { startedBy: 'webhook' } };
            await pipelines.record(tx, request.caller, run);
            await record(tx, toTriggered(accepted));
          });
          return toTriggered(task);
        });
      },
    });
  };

/** @throws webhook_token_missing, webhook_refused */
async function findOwner(
  { findCaller }: WebhookRouteParts['guards'],
  request: FastifyRequest,
  { project }: Found<Pipeline>,
): Promise<Caller> {
  const key = readPresentedKey(request, true);
  if (key === undefined) throw new ServiceError('webhook_token_missing');
  const caller = await Promise.try(findCaller, key).catch((error: unknown) => {
    const isRefused = error instanceof ServiceError && error.code === 'scope_refused';
    throw isRefused ? new ServiceError('webhook_refused') : error;
  });
  const isOwner = caller.scope.type === 'account' && caller.accountId === project.accountId;
  if (!isOwner || !allows(caller.access, 'write')) throw new ServiceError('webhook_refused');
  return caller;
}
