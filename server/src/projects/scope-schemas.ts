import { type Static, Type } from 'typebox';
import { byType, Id, orNull } from '../http/answers/answers.ts';
import type { Scope } from '../kernel/caller.ts';

/** The caller or command that made a change. */
export const WireActor = Type.Object({
  type: Type.Union([Type.Literal('key'), Type.Literal('user'), Type.Literal('command')]),
  id: orNull(Type.Integer()),
  name: Type.String(),
});

const strict = { additionalProperties: false } as const;

export const WirePartScope = Type.Object({ type: Type.Enum(['project-group', 'project']), id: Id }, strict);

/** Of a key or a webhook endpoint. Source: docs/interface.md §5.2. */
export const WireScope = byType<Scope>(
  Type.Union([Type.Object({ type: Type.Literal('account') }, strict), WirePartScope]),
  'Scope',
);

export function toWireScope(scope: Scope) {
  return scope.type === 'account' ? { type: scope.type } : { type: scope.type, id: scope.id };
}

/** Which entries of the log. */
export const AuditFilter = Type.Object({
  projectId: Type.Optional(Id),
  action: Type.Optional(
    Type.String({
      pattern: '^[a-z-]+(\\.[a-z-]+)?$',
      maxLength: 100,
      description: 'an action, as api-key.created, or all of a subject, as api-key',
    }),
  ),
  actor: Type.Optional(
    Type.String({
      pattern: '^(key|user|command)(:\\d{1,15})?$',
      description: 'all keys, users or commands, or one of them, as key:12',
    }),
  ),
  from: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch milliseconds, included' })),
  to: Type.Optional(Type.Integer({ minimum: 0, description: 'epoch milliseconds, excluded' })),
});
export type AuditFilter = Readonly<Static<typeof AuditFilter>>;
