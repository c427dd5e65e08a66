import type { ManagedProject } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { ProjectContext } from './project-context.ts';
import { useRelata } from './session.tsx';

export { ProjectContext } from './project-context.ts';

/** The project of the present view. */
export function useProject(): ManagedProject {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('this view belongs to a project');
  return project;
}

/** All projects in reach: up to 1,000, as many as a page of the list holds. */
export function useProjects() {
  const relata = useRelata();
  return useQuery({
    queryKey: ['projects'],
    queryFn: async ({ signal }) => (await relata.projects.list({ limit: 1000, signal })).items,
  });
}

export function useGroups() {
  const relata = useRelata();
  return useQuery({
    queryKey: ['groups'],
    queryFn: async ({ signal }) => (await relata.projects.listGroups({ limit: 1000, signal })).items,
    // A project's key reaches no groups.
    retry: false,
  });
}
