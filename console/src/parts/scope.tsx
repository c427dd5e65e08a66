import type { ApiKey } from '@relata/client';
import { t } from '../languages/text.ts';
import { useGroups, useProject, useProjects } from '../state/project.ts';
import { useRights } from '../state/session.tsx';
import { SelectField } from './forms/field.tsx';

type ScopeShape = ApiKey['scope'];
type Place = { readonly id: number; readonly projectGroupId: number };

type PartShape = Exclude<ScopeShape, { type: 'account' }>;

/** @returns the name of a group or project; its id while that is not known */
function useNames(): (scope: PartShape) => string {
  const projects = useProjects();
  const groups = useGroups();
  return ({ type, id: wanted }) => {
    const list: readonly { id: number; name: string }[] | undefined =
      type === 'project' ? projects.data : groups.data;
    return list?.find(({ id }) => id === wanted)?.name ?? String(wanted);
  };
}

const kindOf = ({ type }: PartShape) => (type === 'project' ? t('project') : t('group'));

/** @returns the name of a group or project and which of both it is */
export function useScopeName(): (scope: PartShape) => string {
  const nameOf = useNames();
  return (scope) => `${nameOf(scope)} (${kindOf(scope)})`;
}

/** What a key or an endpoint is for, in words. */
export function Scope({ scope }: { scope: ScopeShape }) {
  const nameOf = useNames();
  if (scope.type === 'account') return <>{t('the account')}</>;
  return (
    <>
      {nameOf(scope)} <span className="soft small">{kindOf(scope)}</span>
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
  const { canManageAccountKeys, canChangeGroup } = useRights();
  const group = groups.data?.find(({ id }) => id === project.projectGroupId)?.name ?? t('its group');
  return (
    <SelectField
      label={label}
      choices={[
        ['project', t('{name} (this project)', { name: project.name })],
        ...(canChangeGroup(project.projectGroupId)
          ? [['project-group', t('{group} (its group)', { group })] as const]
          : []),
        ...(canManageAccountKeys ? [['account', t('the whole account')] as const] : []),
      ]}
      value={value}
      onChange={onChange}
    />
  );
}

export function toScope(type: string, project: Place): ScopeShape {
  if (type === 'account') return { type };
  return type === 'project'
    ? { type, id: project.id }
    : { type: 'project-group', id: project.projectGroupId };
}
