import type { FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  type CountLook,
  ErrorAnswer,
  ProjectParams,
  type Routes,
  type Server,
  serve,
  serveOnce,
  whileCallerWaits,
} from '../../http/http.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Catalog } from '../catalog.ts';
import { ProductParams, TaskStarted } from '../products/products.ts';
import {
  ChangePage,
  ChangeQuery,
  CommitList,
  CommitParams,
  ProductHistory,
  RestoreEffect,
  RestoreQuery,
} from './kept-commit-schemas.ts';

export interface KeptCommitRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  readonly countLook: CountLook;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly uploadMaxMib: number;
}

const about = { method: 'GET', tags: ['Updates'] } as const;
const config = { guard: 'management', access: 'manage' } as const;
const PAGE = 20;

/** Source: docs/interface.md §4.5 and §14.8. */
export const keptCommitRoutes =
  (parts: KeptCommitRouteParts): Routes =>
  (server) => {
    serveRestore(server, parts);
    serveCommits(server, parts);
    serveProduct(server, parts);
  };

function serveRestore(server: Server, { catalog, answerOnce, projects, uploadMaxMib }: KeptCommitRouteParts) {
  const endpoint = {
    method: 'POST',
    path: '/products/batch/restore',
    tags: ['Updates'],
    failures: { '4xx': ErrorAnswer, 507: ErrorAnswer },
    // A body means nothing; some connectors send the last batch again.
    config: { guard: 'project', access: 'write', maxBodyMib: uploadMaxMib, body: 'raw' },
    summary: 'Undo the last commit or delete, or all down to one',
    ...{ query: RestoreQuery, answer: { 200: TaskStarted }, answerOnce },
  } as const;
  serveOnce(server, endpoint, (request, once) => {
    const { commit, ifLast } = request.query;
    return once((record) =>
      catalog.updates.restore(request.project, {
        ...(commit !== undefined && { commit }),
        ...(ifLast !== undefined && { ifLast }),
        async record(tx, answer) {
          await record(tx, answer);
          await projects.recordChange(describeRestore(request, { commit, ifLast }), tx);
        },
      }),
    );
  });
}

/** For the audit log. */
const describeRestore = (
  { caller, project: { id, name } }: FastifyRequest,
  details: Record<string, unknown>,
) => ({
  ...{ author: caller, projectId: id, action: 'products.restored', details },
  subject: { type: 'project', id, name },
});

function serveCommits(server: Server, { catalog, countLook }: KeptCommitRouteParts): void {
  const path = '/management/projects/:id/commits';
  const list = {
    ...{ ...about, config, path, params: ProjectParams },
    summary: 'List the commits and deletes that can be undone',
    answer: { 200: CommitList },
  } as const;
  serve(server, list, ({ project }) => catalog.commits.list(project.id));
  const changes = {
    ...{ ...about, config, path: `${path}/:commitId/products`, params: CommitParams, query: ChangeQuery },
    summary: 'The products that a commit changed, before and after',
    answer: { 200: ChangePage },
  } as const;
  serve(server, changes, (request, reply) => {
    countLook(request, reply);
    const { project, params, query } = request;
    const { kind, cursor, limit = PAGE } = query;
    const question = { commit: params.commitId, kind, cursor, limit };
    return whileCallerWaits(reply, (signal) => catalog.commits.listChanges(project.id, question, signal));
  });
  const preview = {
    ...{ ...about, config, path: `${path}/:commitId/restore-preview`, params: CommitParams },
    summary: 'What undoing a commit and all after it would do; nothing is changed',
    answer: { 200: RestoreEffect },
  } as const;
  serve(server, preview, (request, reply) => {
    countLook(request, reply);
    const { project, params } = request;
    return whileCallerWaits(reply, (signal) =>
      catalog.commits.weighRestore(project.id, params.commitId, signal),
    );
  });
}

function serveProduct(server: Server, { catalog }: KeptCommitRouteParts): void {
  const endpoint = {
    ...{ ...about, config, path: '/management/projects/:id/products/:identifier/commits' },
    params: ProductParams,
    summary: 'The kept commits that changed a product, with what it was before and after',
    answer: { 200: ProductHistory },
  } as const;
  serve(server, endpoint, ({ project, params: { identifier } }, reply) =>
    whileCallerWaits(reply, (signal) => catalog.commits.listOfProduct(project.id, identifier, signal)),
  );
}
