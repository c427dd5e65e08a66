import { includesRole, type Role } from '../../kernel/caller.ts';
import type { RoleRule } from '../../kernel/role-rules.ts';

/** @returns the highest role that the groups give; undefined: none */
export function findRole(rules: readonly RoleRule[], groups: readonly string[]): Role | undefined {
  const roles = rules.filter(({ group }) => group === '*' || groups.includes(group)).map(({ role }) => role);
  return roles.find((role) => roles.every((other) => includesRole(role, other)));
}
