import type { ManagedProject } from '@relata/client';
import { createContext, useContext } from 'react';
import { changesGroup, changesProject, changesSome } from '../rules/roles.ts';
import { useRelata, useSession } from './session.tsx';

/** The project of the current view; undefined for views outside of projects. */
export const ProjectContext = createContext<ManagedProject | undefined>(undefined);

interface Rights {
  /** Applies to the view's project, or outside of projects to any group. */
  readonly canChange: boolean;
  canChangeGroup(id: number): boolean;
  readonly canChangeAll: boolean;
  readonly canManageUsers: boolean;
  readonly canManageAccountKeys: boolean;
}

const OF_KEYS: Rights = {
  canChange: true,
  canChangeGroup: () => true,
  canChangeAll: true,
  canManageUsers: false,
  canManageAccountKeys: true,
};

/** The rights of the current user. The service decides; the console only hides what it would refuse. */
export function useRights(): Rights {
  const { caller } = useSession();
  const project = useContext(ProjectContext);
  if (caller?.kind !== 'user') return OF_KEYS;
  const { user } = caller.session;
  const isOwner = user.role === 'owner';
  return {
    canChange: project ? changesProject(user, project) : changesSome(user),
    canChangeGroup: (id) => changesGroup(user, id),
    canChangeAll: isOwner || user.role === 'editor',
    canManageUsers: isOwner,
    canManageAccountKeys: isOwner,
  };
}

/** The project of the current view. */
export function useProject(): ManagedProject {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('this view belongs to a project');
  return project;
}

/** The parameters that calls of the view share. */
export function useCalls() {
  const project = useProject();
  return { relata: useRelata(), project, projectId: project.id };
}
