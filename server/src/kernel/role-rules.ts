import type { Role } from './caller.ts';

/** Which role a group of the company's provider gives. Source: docs/interface.md §5.7. */
export interface RoleRule {
  /** As the provider names it; `*`: whomever it signs in. */
  readonly group: string;
  readonly role: Role;
}

const ROLES: readonly unknown[] = ['owner', 'editor', 'viewer'] satisfies Role[];
const MEMBERS: readonly string[] = ['group', 'role'] satisfies (keyof RoleRule)[];

/** @returns undefined for what is no JSON list of rules */
export function readRoleRules(text: string): RoleRule[] | undefined {
  try {
    const rules: unknown = JSON.parse(text);
    return Array.isArray(rules) && rules.length > 0 && rules.every(isRule) ? rules : undefined;
  } catch {
    return undefined;
  }
}

function isRule(given: unknown): given is RoleRule {
  if (typeof given !== 'object' || given === null) return false;
  const { group, role } = given as Partial<Record<string, unknown>>;
  const isNamed = typeof group === 'string' && group !== '';
  return isNamed && ROLES.includes(role) && Object.keys(given).every((name) => MEMBERS.includes(name));
}
