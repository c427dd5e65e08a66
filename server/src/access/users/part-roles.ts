import type { PartRole, Role } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author, Projects } from '../../projects/projects.ts';

/** What a user may do: in the account, and in parts of it. */
export interface Roles {
  readonly role: Role;
  readonly roles: readonly PartRole[];
}

/**
 * Unknown groups and projects, and those of another account, are alike. Source: docs/interface.md §14.6 rule 8.
 * @throws request_invalid, scope_refused
 */
export async function refuseUnfitRoles(
  projects: Pick<Projects, 'reachesScope'>,
  author: Author,
  { role, roles }: Roles,
): Promise<void> {
  if (role === 'owner' && roles.length > 0) throw invalid('/roles must be empty: an owner may do everything');
  if (role === 'none' && roles.length === 0) throw invalid('/roles must have an entry where /role is none');
  const seen = new Set<string>();
  for (const [at, { scope }] of roles.entries()) {
    const named = `${scope.type} ${scope.id}`;
    if (seen.has(named)) throw invalid(`/roles/${at}/scope ${named} is there twice`);
    seen.add(named);
    if (await projects.reachesScope(author, scope)) continue;
    throw new ServiceError('scope_refused', {
      details: [`/roles/${at}/scope ${named} does not exist in the account`],
    });
  }
}

const invalid = (detail: string) => new ServiceError('request_invalid', { details: [detail] });
