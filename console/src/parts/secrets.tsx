import type { ApiKey } from '@relata/client';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { useGroups, useProjects } from '../state/answers.ts';
import { tell } from '../state/notices.ts';
import { useProject, useRights } from '../state/rights.ts';
import { Button } from './button.tsx';
import { SelectField, type TextShape } from './forms/field.tsx';
import { Card, DialogButton, FormDialog } from './page.tsx';
import { Code } from './show.tsx';

interface OnceShape {
  title: string;
  about: string;
  label: string;
  /** Undefined if it was lost, because the service does not keep secrets. */
  value: string | undefined;
  lost?: string;
  onDone(): void;
}

/** A secret, shown once. */
export const OnceShown = ({ title, about, label, value, lost, onDone }: OnceShape) => (
  <Card title={title} actions={<Button onClick={onDone}>{t('I have saved it')}</Button>}>
    <p className={value === undefined ? undefined : 'soft'}>{value === undefined ? lost : about}</p>
    {value !== undefined && <Code text={value} label={label} />}
  </Card>
);

const HOUR_S = 3_600;

interface RotateShape {
  title: string;
  label: string;
  isOpen: boolean;
  onClose(): void;
  onRotate(overlapSeconds: number): Promise<unknown>;
  children?: ReactNode;
}

/** How long the old value works beside the new one. Source: docs/interface §6.1 rule 5, §14.2 rule 14. */
export function RotateDialog({ label, onRotate, children, ...dialog }: RotateShape) {
  const [overlap, setOverlap] = useState<string>(String(24 * HOUR_S));
  return (
    <FormDialog {...dialog} action={t('Rotate')} onSubmit={() => onRotate(Number(overlap))}>
      {children}
      <SelectField
        label={label}
        choices={[
          ['0', t('Ends immediately')],
          [String(HOUR_S), t('Works for another hour')],
          [String(24 * HOUR_S), t('Works for another day')],
          [String(7 * 24 * HOUR_S), t('Works for another 7 days')],
        ]}
        value={overlap}
        onChange={setOverlap}
      />
    </FormDialog>
  );
}

interface UrlShape {
  title: string;
  of: 'webhook' | 'channel';
  url: string;
  /** The consequence for the current address. */
  warning: string;
  renew(): Promise<unknown>;
  children: ReactNode;
}

/** An address that works without a key, and can be replaced by a new one. */
export function UrlCard({ title, of, url, warning, renew, children }: UrlShape) {
  const { canChange } = useRights();
  return (
    <Card
      title={title}
      actions={
        canChange && (
          <DialogButton
            words={t('New URL …')}
            title={t('Change the URL of the {of}', { of })}
            action={t('Create a new URL')}
            isDanger
            onSubmit={() => renew().then(() => tell.good(t('The {of} has a new URL', { of })))}
          >
            <p>{warning}</p>
          </DialogButton>
        )
      }
    >
      {children}
      <Code label={t('The URL of the {of}', { of })} text={url} />
    </Card>
  );
}

type ScopeShape = ApiKey['scope'];
type Place = { readonly id: number; readonly projectGroupId: number };

type PartShape = Exclude<ScopeShape, { type: 'account' }>;

/** @returns the name of a group or project, or its id while the name is unknown */
function useNames(): (scope: PartShape) => string {
  const projects = useProjects();
  const groups = useGroups();
  return ({ type, id: ownId }) => {
    const list: readonly { id: number; name: string }[] | undefined =
      type === 'project' ? projects.data : groups.data;
    return list?.find(({ id }) => id === ownId)?.name ?? String(ownId);
  };
}

const kindOf = ({ type }: PartShape) => (type === 'project' ? t('project') : t('group'));

/** @returns the name of a group or project, and which of the two it is */
export function useScopeName(): (scope: PartShape) => string {
  const nameOf = useNames();
  return (scope) => `${nameOf(scope)} (${kindOf(scope)})`;
}

/** The scope of a key or an endpoint, in words. */
export function Scope({ scope }: { scope: ScopeShape }) {
  const nameOf = useNames();
  if (scope.type === 'account') return <>{t('the account')}</>;
  return (
    <>
      {nameOf(scope)} <span className="soft small">{kindOf(scope)}</span>
    </>
  );
}

/** Whether a scope includes the project. */
export function reaches(scope: ScopeShape, project: Place): boolean {
  if (scope.type === 'account') return true;
  return scope.id === (scope.type === 'project' ? project.id : project.projectGroupId);
}

/** Offers the scopes that include the current project. */
export function ScopeField({ label, value, onChange }: TextShape) {
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
