import { Type } from 'typebox';
import { byType, Id } from '../http/answers/answers.ts';
import type { Scope } from '../kernel/caller.ts';

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
