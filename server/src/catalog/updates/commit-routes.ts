import { Type } from 'typebox';
import {
  ErrorAnswer,
  Id,
  oneOf,
  orNull,
  ProjectParams,
  ProjectQuery,
  pageOf,
} from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  type Routes,
  type RouteTools,
  type Server,
  sendJson,
  serve,
  serveOnce,
  serveRaw,
} from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Catalog } from '../catalog.ts';
import { Commit, RestoreEffect } from '../commit-schemas.ts';
import { ProductParams } from '../products/schemas/schemas.ts';
import { TaskStarted } from './update-answers.ts';

const reach = {
  keptCommits: Type.Integer({ description: 'the setting of the project' }),
  keptDays: orNull(Type.Integer(), 'the setting of the project; null: commits of any age'),
};
const CommitList = Type.Object({
  items: Type.Array(Commit, { description: 'commits that can be undone, latest first' }),
  ...reach,
});

const Upload = orNull(Type.Unknown(), 'upload shape; null: the product did not exist');
const change = {
  productId: Type.Integer(),
  identifier: Type.String(),
  kind: oneOf(['created', 'changed', 'deleted']),
  before: Upload,
  after: Upload,
  changedSince: Type.Boolean({
    description:
      'true: an update changed the product again; `after` is the state that the next undoable commit found, or the present state',
  }),
};
const ProductHistory = Type.Object({
  items: Type.Array(Type.Object({ commit: Commit, ...change }, { title: 'ProductChange' }), {
    description: 'latest first',
  }),
  ...reach,
});
const CommitParams = Type.Object({ ...ProjectParams.properties, commitId: Id });
const WRITTEN = 'another thread writes the uploads as bytes';
const ChangeQuery = Type.Object({
  kind: Type.Optional(change.kind),
  limit: optional.integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: optional.text({ maxLength: 100, description: 'nextCursor of the previous page' }),
});
const RestoreQuery = Type.Object({
  ...ProjectQuery.properties,
  commit: optional.integer({
    ...Id,
    description: 'the oldest commit to undo, with all later ones; default: the last commit',
  }),
  ifLast: optional.integer({
    ...Id,
    description: 'the commit that must be the last one; otherwise the answer is 412',
  }),
});

interface CommitRouteParts extends RouteTools {
  readonly catalog: Catalog;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const tags = ['Updates'];

/** Restores, and the commits that can be undone. Source: docs/interface §4.5 and §14.8. */
export const commitRoutes =
  (parts: CommitRouteParts): Routes =>
  (server) => {
    serveRestore(server, parts);
    serveCommits(server, parts);
    serveCommitChanges(server, parts);
    serveRestorePreview(server, parts);
    serveProductHistory(server, parts);
  };

function serveRestore(server: Server, { catalog, answerOnce, projects, uploadMaxMib }: CommitRouteParts) {
  serveOnce(server, 'POST /products/batch/restore', {
    tags,
    failures: { '4xx': ErrorAnswer, 507: ErrorAnswer },
    // The body is ignored, because some connectors send the last batch again.
    config: { guard: 'project', access: 'write', maxBodyMib: uploadMaxMib, body: 'raw' },
    summary: 'Undo the last commit or delete, or all back to a given commit',
    query: RestoreQuery,
    answer: { 200: TaskStarted },
    answerOnce,
    handle({ caller, project, query: { commit, ifLast } }, record) {
      const { id, name } = project;
      const change = {
        author: caller,
        projectId: id,
        action: 'products.restored',
        details: { commit, ifLast },
        subject: { type: 'project', id, name },
      };
      return catalog.restores.restore(project, {
        commit,
        ifLast,
        async record(tx, answer) {
          await record(tx, answer);
          await projects.recordChange(change, tx);
        },
      });
    },
  });
}

const read = { tags, config: { guard: 'management', access: 'manage' } } as const;
const COMMITS = '/management/projects/:id/commits';

function serveCommits(server: Server, { catalog }: CommitRouteParts): void {
  serve(server, `GET ${COMMITS}`, {
    ...read,
    params: ProjectParams,
    summary: 'List the commits and deletes that can be undone',
    answer: { 200: CommitList },
    handle: ({ project }) => catalog.commits.list(project.id),
  });
}

function serveCommitChanges(server: Server, { catalog, limitScans }: CommitRouteParts): void {
  serveRaw(server, `GET ${COMMITS}/:commitId/products`, {
    ...read,
    why: WRITTEN,
    params: CommitParams,
    query: ChangeQuery,
    summary: 'List the products that a commit changed, before and after',
    answer: { 200: pageOf(Type.Object(change, { title: 'CommitChange' })) },
    handle(request, reply) {
      limitScans(request, reply);
      const { project, params, query } = request;
      const page = { ...query, commit: params.commitId, limit: query.limit ?? 20 };
      return whileCallerWaits(reply, async (signal) =>
        sendJson(reply, await catalog.commits.listChanges(project.id, page, signal)),
      );
    },
  });
}

function serveRestorePreview(server: Server, { catalog, limitScans }: CommitRouteParts): void {
  serve(server, `GET ${COMMITS}/:commitId/restore-preview`, {
    ...read,
    params: CommitParams,
    summary: 'Preview the effect of undoing a commit and all later ones',
    answer: { 200: RestoreEffect },
    handle(request, reply) {
      limitScans(request, reply);
      const { project, params } = request;
      return whileCallerWaits(reply, (signal) =>
        catalog.commits.weighRestore(project.id, params.commitId, signal),
      );
    },
  });
}

function serveProductHistory(server: Server, { catalog }: CommitRouteParts): void {
  serveRaw(server, 'GET /management/projects/:id/products/:identifier/commits', {
    ...read,
    why: WRITTEN,
    params: ProductParams,
    summary: 'List the commits that changed a product, with the product before and after',
    answer: { 200: ProductHistory },
    handle: ({ project, params: { identifier } }, reply) =>
      whileCallerWaits(reply, async (signal) =>
        sendJson(reply, await catalog.commits.listOfProduct(project.id, identifier, signal)),
      ),
  });
}
