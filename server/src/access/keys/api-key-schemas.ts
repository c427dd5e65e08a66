import { Type } from 'typebox';
import { Name, orNull } from '../../http/answers/answers.ts';
import { toWireScope, WireScope } from '../../projects/projects.ts';
import type { ApiKey } from './api-key.ts';
import type { MadeKey } from './key-management.ts';

/** Not that of http: instants that are also sent get bounds. */
const Instant = Type.Integer({ description: 'epoch milliseconds' });
const OptionalInstant = orNull(Instant);
const AccessWord = Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('manage')], {
  description:
    'read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: all that the scope allows',
});

/** A million a minute is beyond what a process serves, so a larger limit would mean none. */
const RateLimit = Type.Object(
  { requestsPerMinute: Type.Integer({ minimum: 1, maximum: 1_000_000 }) },
  { additionalProperties: false },
);

const wireKeyFields = {
  id: Type.Integer(),
  name: Type.String(),
  scope: WireScope,
  access: AccessWord,
  firstCharacters: Type.String({ description: 'of the value, to tell keys apart' }),
  createdAt: Instant,
  lastUsedAt: OptionalInstant,
  usedInUrlAt: orNull(Instant, 'last use by the deprecated ?apiKey='),
  expiresAt: OptionalInstant,
  rateLimit: orNull(RateLimit),
  createdBy: Type.Object({
    type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
    id: orNull(Type.Integer()),
    name: Type.String(),
  }),
};

/** Source: docs/interface.md §5.2 rule 3. */
export const WireApiKey = Type.Object(wireKeyFields, { title: 'ApiKey' });

/** Source: docs/interface.md §14.2 rules 6 and 7. */
export const WireMadeKey = Type.Object(
  {
    ...wireKeyFields,
    key: Type.Optional(
      Type.String({ description: 'the value: shown once, so a repetition by Idempotency-Key has none' }),
    ),
  },
  { title: 'NewApiKey' },
);

export const NewApiKey = Type.Object(
  {
    name: Name,
    scope: WireScope,
    access: Type.Optional(AccessWord),
    rateLimit: Type.Optional(orNull(RateLimit)),
    expiresAt: Type.Optional(OptionalInstant),
  },
  { additionalProperties: false },
);

export const ApiKeyChange = Type.Object(
  {
    name: Type.Optional(Name),
    access: Type.Optional(AccessWord),
    rateLimit: Type.Optional(orNull(RateLimit, 'null: no limit')),
    expiresAt: Type.Optional(orNull(Instant, 'null: never')),
  },
  { additionalProperties: false },
);

export const KeyRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: 0,
        description: 'for so long the old value works too',
      }),
    ),
  },
  { additionalProperties: false },
);

export function toWireKey(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    scope: toWireScope(key.scope),
    access: key.access,
    firstCharacters: key.firstCharacters,
    createdAt: key.createdAt,
    lastUsedAt: key.lastUsedAt,
    usedInUrlAt: key.usedInUrlAt,
    expiresAt: key.expiresAt,
    rateLimit: key.requestsPerMinute === null ? null : { requestsPerMinute: key.requestsPerMinute },
    createdBy: key.createdBy,
  };
}

export function toWireMadeKey(key: MadeKey) {
  return { ...toWireKey(key), key: key.value };
}
