import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import { listParts, type PartScope } from '../kernel/caller.ts';
import { padIds } from '../kernel/padded.ts';
import type { ControlSchema } from '../storage/storage.ts';
import type { Reach } from './project.ts';

/**
 * Keys and endpoints have a scope: they are in reach of the same scope and of those above. Source: docs/interface.md §5.2 rule 6
 * and §6.1.
 */
export function isScopeInReach({ accountId, scope }: Reach): Expression<SqlBool> {
  const eb = expressionBuilder<ControlSchema, 'api_key' | 'webhook_endpoint'>();
  const ofAccount = eb('account_id', '=', accountId);
  const parts = listParts(scope);
  if (parts === undefined) return ofAccount;
  const groups = padIds(parts.groups);
  const projects = eb.selectFrom('project').select('project.id').where('project_group_id', 'in', groups);
  const isOf = (type: PartScope['type']) => eb('scope_type', '=', type);
  return eb.and([
    ofAccount,
    eb.or([
      eb.and([isOf('project-group'), eb('scope_id', 'in', groups)]),
      eb.and([isOf('project'), eb('scope_id', 'in', padIds(parts.projects))]),
      eb.and([isOf('project'), eb('scope_id', 'in', projects)]),
    ]),
  ]);
}
