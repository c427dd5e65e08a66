import { includesRole, type PartRole, type Role } from '../../kernel/caller.ts';
import type { RoleRule } from '../../kernel/role-rules.ts';

/** @returns the highest role that the groups give in the account, and in each part of it */
export function findRoles(
  rules: readonly RoleRule[],
  groups: readonly string[],
): { role: Role; roles: PartRole[] } {
  let role: Role = 'none';
  const roles = new Map<string, PartRole>();
  for (const rule of rules.filter(({ group }) => group === '*' || groups.includes(group))) {
    if (rule.scope === undefined) role = higher(role, rule.role);
    else keepHighest(roles, { scope: rule.scope, role: rule.role });
  }
  return { role, roles: [...roles.values()] };
}

function keepHighest(roles: Map<string, PartRole>, given: PartRole): void {
  const part = `${given.scope.type} ${given.scope.id}`;
  if (!includesRole(roles.get(part)?.role ?? 'none', given.role)) roles.set(part, given);
}

const higher = (one: Role, other: Role): Role => (includesRole(one, other) ? one : other);
