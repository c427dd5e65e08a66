import type { PartRole } from '@relata/client';
import { t } from '../languages/text.ts';
import { IconButton } from '../parts/button.tsx';
import { type Choice, SelectField } from '../parts/forms/field.tsx';
import { useScopeName } from '../parts/scope.tsx';
import { useGroups, useProjects } from '../state/project.ts';

const listRoles = () =>
  [
    ['viewer', t('viewer')],
    ['editor', t('editor')],
  ] as const;

const nameScope = ({ type, id }: PartRole['scope']) => `${type} ${id}`;

/** Which groups and projects a user has a role in. */
export function PartRoles({
  roles,
  onChange,
}: {
  roles: readonly PartRole[];
  onChange(roles: PartRole[]): void;
}) {
  const groups = useGroups();
  const projects = useProjects();
  const nameOf = useScopeName();
  const taken = new Set(roles.map(({ scope }) => nameScope(scope)));
  const open = [
    ...(groups.data ?? []).map(({ id }) => ({ type: 'project-group', id }) as const),
    ...(projects.data ?? []).map(({ id }) => ({ type: 'project', id }) as const),
  ].filter((scope) => !taken.has(nameScope(scope)));
  const add = (name: string) => {
    const scope = open.find((one) => nameScope(one) === name);
    if (scope) onChange([...roles, { scope, role: 'editor' }]);
  };
  return (
    <div className="stack">
      {roles.map((one, at) => (
        <div key={nameScope(one.scope)} className="row spread">
          <span>{nameOf(one.scope)}</span>
          <span className="row">
            <SelectField
              label={t('Role in {scope}', { scope: nameOf(one.scope) })}
              isQuiet
              choices={listRoles()}
              value={one.role}
              onChange={(role) => onChange(roles.with(at, { ...one, role }))}
            />
            <IconButton
              icon="cross"
              label={t('Remove the role in {scope}', { scope: nameOf(one.scope) })}
              onClick={() => onChange(roles.toSpliced(at, 1))}
            />
          </span>
        </div>
      ))}
      <SelectField
        label={t('Add a project group or project')}
        hint={t('A role there counts where it is higher than that for the whole account.')}
        choices={[['', t('Choose …')], ...open.map((scope): Choice => [nameScope(scope), nameOf(scope)])]}
        value=""
        onChange={add}
      />
    </div>
  );
}
