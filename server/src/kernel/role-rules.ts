import type { PartRole, PartScope, Role } from './caller.ts';
import { parseJson } from './json-scan.ts';

/** The role that a group at the sign-in provider gives its members. Source: docs/interface §5.7. */
export type RoleRule = {
  /** The provider's name for the group. `*` matches everyone who signs in with a company account. */
  readonly group: string;
} & (PartRole | { readonly role: Exclude<Role, 'none'>; readonly scope?: never });

const ROLES: readonly unknown[] = ['owner', 'editor', 'viewer'] satisfies Role[];
const PART_ROLES: readonly unknown[] = ['editor', 'viewer'] satisfies PartRole['role'][];
const PARTS: readonly unknown[] = ['project-group', 'project'] satisfies PartScope['type'][];

/** @returns undefined if the text is not a JSON list of rules */
export function readRoleRules(text: string): RoleRule[] | undefined {
  const rules = parseJson(text);
  return Array.isArray(rules) && rules.length > 0 && rules.every(isRule) ? rules : undefined;
}

function isRule(value: unknown): value is RoleRule {
  if (!isObjectOf(value, ['group', 'role', 'scope'])) return false;
  const { group, role, scope } = value;
  const isNamed = typeof group === 'string' && group !== '';
  if (scope === undefined) return isNamed && ROLES.includes(role);
  return isNamed && PART_ROLES.includes(role) && isPart(scope);
}

function isPart(scope: unknown): boolean {
  if (!isObjectOf(scope, ['type', 'id'])) return false;
  return PARTS.includes(scope.type) && Number.isSafeInteger(scope.id) && Number(scope.id) > 0;
}

function isObjectOf(value: unknown, members: readonly string[]): value is Partial<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.keys(value).every((name) => members.includes(name))
  );
}
