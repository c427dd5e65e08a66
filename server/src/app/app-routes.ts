/** The composition of the routes: what each folder serves, with what its neighbours have to say to it. */
import type { createAccess } from '../access/access.ts';
import { apiKeyRoutes } from '../access/keys/api-key-routes.ts';
import { sessionRoutes } from '../access/users/session-routes.ts';
import { userRoutes } from '../access/users/user-routes.ts';
import { productRoutes } from '../catalog/browse/product-routes.ts';
import { surveyRoutes } from '../catalog/browse/survey-routes.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { lookupRoutes } from '../catalog/lookup/lookup-routes.ts';
import { ontologyRoutes } from '../catalog/ontology/ontology-routes.ts';
import { fullUpdateRoutes, productUpdateRoutes } from '../catalog/updates/update-routes.ts';
import type { Config } from '../config.ts';
import {
  createAnswerOnce,
  createLookCount,
  createSessionCookie,
  type Server,
  serveConsole,
  serveDocuments,
} from '../http/http.ts';
import { type Caller, type ChosenProject, originOf } from '../kernel/caller.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Pipelines } from '../pipelines/pipelines.ts';
import { projectRoutes } from '../projects/project-routes.ts';
import type { Projects } from '../projects/projects.ts';
import { productRelationRoutes } from '../relations/answers/product-relation-routes.ts';
import { relatedRoutes } from '../relations/answers/related-routes.ts';
import { relationRoutes } from '../relations/definitions/relation-routes.ts';
import type { Relations } from '../relations/relations.ts';
import type { Statistics } from '../statistics/statistics.ts';
import { statisticsRoutes } from '../statistics/statistics-routes.ts';
import type { ControlTransaction, Storage } from '../storage/storage.ts';
import { taskRoutes } from '../tasks/task-routes.ts';
import type { createTasks } from '../tasks/tasks.ts';
import { addPipelineRoutes } from './pipeline-parts.ts';

/** Never from the `Host` header: whoever makes a request would choose where a link leads. */
export function baseUrlOf({ publicUrl, host, port }: Config, server?: Server): string {
  if (publicUrl !== undefined) return publicUrl;
  const bound = server?.addresses().find((address) => typeof address === 'object');
  const named = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host;
  return `http://${named.includes(':') ? `[${named}]` : named}:${bound?.port ?? port}`;
}

export interface RouteNeeds {
  readonly config: Config;
  readonly clock: Clock;
  readonly storage: Storage;
  readonly projects: Projects;
  readonly access: ReturnType<typeof createAccess>;
  readonly statistics: Statistics;
  readonly tasks: ReturnType<typeof createTasks>;
  readonly catalog: Catalog;
  readonly relations: Relations;
  readonly pipelines: Pipelines;
  /** Where the built console is; default console/dist. */
  readonly consoleFolder: string | undefined;
}

/** All routes of the folders; those of the service itself are in `app/app.ts`. */
export function addRoutes(server: Server, needs: RouteNeeds): void {
  const { config, clock, storage, projects, access, statistics, tasks, catalog, relations, consoleFolder } =
    needs;
  const answerOnce = createAnswerOnce(storage.database, clock);
  projectRoutes({ projects, answerOnce })(server);
  apiKeyRoutes({ access, projects, answerOnce })(server);
  sessionRoutes({ access, cookie: createSessionCookie(config.publicUrl) })(server);
  const findBaseUrl = () => baseUrlOf(config, server);
  userRoutes({ access, answerOnce, baseUrl: findBaseUrl })(server);
  statisticsRoutes({ statistics, projects, access, clock })(server);
  taskRoutes({ tasks, reaches: projects.reachesProject })(server);
  const recordDelete = (
    tx: ControlTransaction,
    request: { caller: Caller; project: ChosenProject },
    identifiers: readonly string[],
  ) =>
    projects.recordChange(
      {
        author: request.caller,
        projectId: request.project.id,
        action: 'products.deleted',
        subject: { type: 'project', id: request.project.id, name: request.project.name },
        details: { count: identifiers.length, identifiers: identifiers.slice(0, 100) },
      },
      tx,
    );
  const updateParts = { catalog, answerOnce, uploadMaxMib: config.uploadMaxMib, recordDelete };
  productUpdateRoutes(updateParts)(server);
  fullUpdateRoutes(updateParts)(server);
  lookupRoutes(catalog)(server);
  const getProject = async (request: { caller: Caller }, projectId: number) => {
    const { id, name } = await projects.getProject(request.caller, projectId);
    return { id, name, accountId: request.caller.accountId, ...originOf(request.caller) };
  };
  const countLook = createLookCount();
  relatedRoutes(relations)(server);
  productRelationRoutes({ relations, getProject })(server);
  relationRoutes({
    relations,
    answerOnce,
    getProject,
    countLook,
    recordRelationChange: (request, projectId, { action, relation, beside }) =>
      storage.database.write(async (tx) => {
        const subject = relation
          ? { type: 'relation', id: relation.id, name: relation.definition.name }
          : { type: 'project', id: projectId };
        const author = request.caller;
        await projects.recordChange({ author, projectId, action: `relation.${action}`, subject }, tx);
        await beside(tx);
      }),
  })(server);
  for (const routes of [productRoutes, surveyRoutes]) routes({ catalog, getProject, countLook })(server);
  ontologyRoutes({
    catalog,
    answerOnce,
    getProject,
    recordOntologyChange: (request, projectId, { details, beside }) =>
      storage.database.write(async (tx) => {
        const subject = { type: 'project', id: projectId } as const;
        const entry = { author: request.caller, projectId, action: 'ontology.changed', subject } as const;
        if (details !== undefined) await projects.recordChange({ ...entry, details }, tx);
        await beside(tx);
      }),
  })(server);
  addPipelineRoutes(server, { ...needs, answerOnce, getProject, findBaseUrl });
  serveDocuments(server);
  serveConsole(server, consoleFolder);
}
