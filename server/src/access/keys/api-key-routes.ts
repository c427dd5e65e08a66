import { type Static, Type } from 'typebox';
import {
  closedObject,
  DoneAnswer,
  Name,
  orNull,
  ProjectQuery,
  successAnswer,
  titled,
} from '../../http/answers/answers.ts';
import {
  answerAs,
  fieldsOf,
  inReach,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveKind,
} from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { type Projects, type Reach, toWireScope, WireActor, WireScope } from '../../projects/projects.ts';
import type { Access } from '../access.ts';
import type { ApiKey, NewKey } from './api-key.ts';
import type { MadeKey } from './key-management.ts';

/** Has no bounds, unlike `Instant` of http, because clients never send these instants. */
const Instant = Type.Integer({ description: 'epoch milliseconds' });
const OptionalInstant = orNull(Instant);
const AccessWord = Type.Enum(['read', 'write', 'manage'], {
  description:
    'read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: everything within the scope',
});

const PAGE_ONLY = 'only related products and fit, for a page whose visitors can see the key';

/** A process cannot serve more than a million requests a minute, so a larger limit would have no effect. */
const RateLimit = closedObject({ requestsPerMinute: Type.Integer({ minimum: 1, maximum: 1_000_000 }) });

const wireKeyFields = {
  id: Type.Integer(),
  name: Type.String(),
  scope: WireScope,
  access: AccessWord,
  page: Type.Optional(Type.Literal(true, { description: PAGE_ONLY })),
  firstCharacters: Type.String({ description: 'of the value, to identify the key' }),
  createdAt: Instant,
  lastUsedAt: OptionalInstant,
  usedInUrlAt: orNull(Instant, 'the last use in the deprecated ?apiKey='),
  expiresAt: OptionalInstant,
  rateLimit: orNull(RateLimit),
  createdBy: WireActor,
};

/** Source: docs/interface §5.2 rule 3. */
const WireApiKey = titled('ApiKey', wireKeyFields);

/** Source: docs/interface §14.2 rules 6 and 7. */
const WireMadeKey = titled('NewApiKey', {
  ...wireKeyFields,
  key: optional.text('the value; shown once, so a repeated request with the same Idempotency-Key has none'),
});

const NewApiKey = closedObject({
  name: Name,
  scope: WireScope,
  access: Type.Optional(AccessWord),
  page: optional.flag(`${PAGE_ONLY}; its access is read`),
  rateLimit: Type.Optional(orNull(RateLimit)),
  expiresAt: Type.Optional(OptionalInstant),
});

const ChangedApiKey = closedObject({
  name: Type.Optional(Name),
  access: Type.Optional(AccessWord),
  rateLimit: Type.Optional(orNull(RateLimit, 'null: no limit')),
  expiresAt: Type.Optional(orNull(Instant, 'null: the key never expires')),
});

const Rotation = closedObject({
  overlapSeconds: optional.integer({
    minimum: 0,
    maximum: 604_800,
    default: 0,
    description: 'for how long the old value stays valid',
  }),
});

const toKey = fieldsOf(WireApiKey);

const toWireKey = ({ requestsPerMinute, access, ...key }: ApiKey) =>
  toKey({
    ...key,
    scope: toWireScope(key.scope),
    ...(access === 'page' ? { access: 'read', page: true } : { access }),
    rateLimit: requestsPerMinute === null ? null : { requestsPerMinute },
  });

/** @throws request_invalid for a key of a page with more access than read */
function toNewKey({ page = false, ...sent }: Static<typeof NewApiKey>): NewKey {
  if (page && (sent.access ?? 'read') !== 'read')
    throw new ServiceError('request_invalid', '/access of a key for a page must be read or omitted');
  return page ? { ...sent, access: 'page' } : sent;
}

interface ApiKeyRouteParts extends Pick<RouteTools, 'answerOnce'> {
  readonly access: Access;
  readonly projects: Pick<Projects, 'chooseProject'>;
}

const onlyOnce =
  'The value is only in this answer; a repeated request with the same `Idempotency-Key` has no `key`.';

/** Source: docs/interface §4.1 rule 3, §5.2 and §14.2. */
export const apiKeyRoutes =
  (parts: ApiKeyRouteParts): Routes =>
  (server) => {
    serveCredentialsCheck(server, parts);
    serveKeys(server, parts);
  };

function serveCredentialsCheck(server: Server, { projects }: ApiKeyRouteParts): void {
  serve(server, 'GET /project/check-credentials', {
    config: { guard: 'key' },
    tags: ['Projects'],
    summary: 'Check whether a key reaches a project',
    query: ProjectQuery,
    answer: { 200: DoneAnswer },
    async handle({ caller, query }) {
      const { scope } = caller;
      const projectId = query.projectId ?? (scope.type === 'project' ? scope.id : undefined);
      if (projectId !== undefined) await projects.chooseProject(caller, projectId);
      return successAnswer;
    },
  });
}

function serveKeys(server: Server, { access, answerOnce }: ApiKeyRouteParts): void {
  const keys = serveKind<ApiKey, Reach>(server, {
    ...inReach,
    path: '/management/api-keys',
    tags: ['Management'],
    answerOnce,
    answer: answerAs(WireApiKey, toWireKey),
  });
  const made = answerAs(WireMadeKey, (key: MadeKey) => ({ ...toWireKey(key), key: key.value }));
  keys.list({ summary: 'List API keys', list: access.listKeys });
  keys.create({
    summary: 'Create an API key',
    description: `A key can create keys within its own scope, with at most its own access, rate limit and expiry. ${onlyOnce}`,
    body: NewApiKey,
    made,
    create: (writer, sent) => access.createKey(writer, toNewKey(sent)),
  });
  keys.read({ summary: 'Read an API key', get: access.getKey });
  keys.change({
    method: 'PATCH',
    summary: 'Change an API key',
    body: ChangedApiKey,
    change: access.changeKey,
  });
  keys.remove({
    summary: 'Delete an API key',
    description: 'The key is refused as soon as this is answered.',
    remove: access.deleteKey,
  });
  keys.change({
    method: 'POST',
    below: '/rotate',
    summary: 'Rotate an API key',
    description: `Creates a new key with the same properties. The old key expires after the overlap. ${onlyOnce}`,
    body: Rotation,
    made,
    change: access.rotateKey,
  });
}
