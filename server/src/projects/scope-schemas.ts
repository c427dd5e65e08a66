import { type Static, Type } from 'typebox';
import { byType, closedObject, Id, Instant, Name, oneOf, orNull, titled } from '../http/answers/answers.ts';
import type { Scope } from '../kernel/caller.ts';
import { optional } from '../kernel/optional.ts';

/** The caller or command that made a change. */
export const WireActor = Type.Object({
  type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
  id: orNull(Type.Integer()),
  name: Type.String(),
});

export const WirePartScope = closedObject({ type: Type.Enum(['project-group', 'project']), id: Id });

/** The scope of a key or a webhook endpoint. Source: docs/interface §5.2. */
export const WireScope = byType<Scope>(
  Type.Union([closedObject({ type: Type.Literal('account') }), WirePartScope]),
  'Scope',
);

export function toWireScope(scope: Scope) {
  return scope.type === 'account' ? { type: scope.type } : { type: scope.type, id: scope.id };
}

/** Source: docs/interface §4.4, §4.5, §4.12, §12.5, §12.10 and §14.2 rule 3. */
export const SentSettings = Type.Object({
  maxDeletePercent: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'the delete guard refuses a full update that would delete more of the products',
  }),
  keptCommits: Type.Integer({
    minimum: 0,
    maximum: 30,
    description: 'how many commits and deletes can be undone',
  }),
  keptDays: orNull(
    Type.Integer({ minimum: 1, maximum: 3_650 }),
    'for how many days commits and deletes can be undone; null: without a limit',
  ),
  brandAttribute: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'the attribute with the brand',
  }),
  priceAttribute: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'the attribute with the price',
  }),
  onInvalid: oneOf(['refuse', 'skip'], 'refuse or skip the invalid products of a request'),
});

export const projectFields = {
  name: Name,
  projectGroupId: Id,
  locale: Type.String({
    pattern: '^[a-z]{2,3}-[A-Z]{2}$',
    description: 'language and country, such as de-DE',
  }),
  tags: Type.Array(Name, { maxItems: 100 }),
  settings: Type.Partial(SentSettings, { additionalProperties: false }),
};

export const NewManagedProject = closedObject({
  ...projectFields,
  tags: Type.Optional(projectFields.tags),
  settings: Type.Optional(projectFields.settings),
});

export const AuditFilter = Type.Object({
  projectId: Type.Optional(Id),
  action: optional.text({
    pattern: '^[a-z-]+(\\.[a-z-]+)?$',
    maxLength: 100,
    description: 'an action such as api-key.created, or a subject such as api-key for all its actions',
  }),
  actor: optional.text({
    pattern: '^(key|user|command)(:\\d{1,15})?$',
    description: 'all keys, users or commands, or a single one such as key:12',
  }),
  from: optional.integer({ minimum: 0, description: 'epoch milliseconds, inclusive' }),
  to: optional.integer({ minimum: 0, description: 'epoch milliseconds, exclusive' }),
});
export type AuditFilter = Readonly<Static<typeof AuditFilter>>;

/** An entry of the audit log. Source: docs/interface §14.4. */
export const AuditEntry = titled('AuditEntry', {
  id: Type.Integer(),
  at: Instant,
  actor: WireActor,
  projectId: orNull(Type.Integer()),
  action: Type.String({ description: 'the subject and the event, such as api-key.created' }),
  subject: Type.Record(Type.String(), Type.Unknown(), { description: 'the changed object' }),
  details: Type.Record(Type.String(), Type.Unknown(), { description: 'the details of the change' }),
});
export type AuditEntry = Static<typeof AuditEntry>;
