import type { ChangeRequest, RouteTools } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Database } from '../../storage/storage.ts';
import type { Relations } from '../relations.ts';

export interface DefinitionRouteParts extends RouteTools {
  readonly relations: Relations;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
}

/**
 * @returns a function that writes the audit entry and the stored answer (§7.5) after the catalog has the
 * change
 */
export const createRecorder =
  <Resource>(
    { projects, database }: DefinitionRouteParts,
    describe: (resource: Resource) => { type: string; id: string | number; name: string },
  ) =>
  async (
    { author, place, beside }: Omit<ChangeRequest<Resource, ChosenProject>, 'signal'>,
    change: 'created' | 'changed' | 'deleted',
    resource: Resource,
  ): Promise<Resource> => {
    const subject = describe(resource);
    await database.write('all', async (tx) => {
      const action = `${subject.type}.${change}`;
      await projects.recordChange({ author, projectId: place.id, action, subject }, tx);
      await beside(tx, resource);
    });
    return resource;
  };
