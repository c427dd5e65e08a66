import type { ApiKey } from '@relata/client';
import { useGroups, useProject, useProjects } from '../state/project.ts';
import { useRights } from '../state/session.tsx';
import { SelectField } from './forms/field.tsx';

type ScopeShape = ApiKey['scope'];
type Place = { readonly id: number; readonly projectGroupId: number };

/** What a key or an endpoint is for, in words. */
export function Scope({ scope }: { scope: ScopeShape }) {
  const projects = useProjects();
  const groups = useGroups();
  if (scope.type === 'account') return <>the account</>;
  const list: readonly { id: number; name: string }[] | undefined =
    scope.type === 'project' ? projects.data : groups.data;
  const name = list?.find(({ id }) => id === scope.id)?.name ?? scope.id;
  return (
    <>
      {name} <span className="soft small">{scope.type === 'project' ? 'project' : 'group'}</span>
    </>
  );
}

/** Whether a scope has the project in it. */
export function reaches(scope: ScopeShape, project: Place): boolean {
  if (scope.type === 'account') return true;
  return scope.id === (scope.type === 'project' ? project.id : project.projectGroupId);
}

/** The scopes that have the present project in them. */
export function ScopeField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange(type: string): void;
}) {
  const project = useProject();
  const groups = useGroups();
  const { canManageAccountKeys } = useRights();
  const group = groups.data?.find(({ id }) => id === project.projectGroupId)?.name ?? 'its group';
  return (
    <SelectField
      label={label}
      choices={[
        ['project', `${project.name} (this project)`],
        ['project-group', `${group} (its group)`],
        ...(canManageAccountKeys ? [['account', 'the whole account'] as const] : []),
      ]}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

export function toScope(type: string, project: Place): ScopeShape {
  if (type === 'account') return { type };
  return type === 'project'
    ? { type, id: project.id }
    : { type: 'project-group', id: project.projectGroupId };
}
