import { Type } from 'typebox';
import {
  type AnswerOnce,
  ErrorAnswer,
  ProjectParams,
  type Routes,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Catalog } from '../catalog.ts';
import { FullUpdateQuery } from '../products/products.ts';

const Shown = Type.Object({
  status: Type.Literal('success'),
  fullUpdateId: Type.Integer(),
  batches: Type.Integer({ description: 'accepted uploads' }),
  products: Type.Integer({ description: 'the sum of their nrOfParsed' }),
  arriving: Type.Integer({ description: 'uploads that are not yet accepted or refused' }),
  lastBatch: Type.Union([Type.Literal('accepted'), Type.Literal('failed'), Type.Literal('in doubt')]),
  lastBatchAt: Type.Integer({ description: 'epoch milliseconds; without a batch when it was opened' }),
});
const Found = Type.Object({
  fullUpdate: Type.Union([Shown, Type.Null()], { description: 'null: none is open' }),
});
const GivenUp = Type.Object({ status: Type.Literal('success'), fullUpdateId: Type.Integer() });
const about = {
  path: '/products/batch',
  tags: ['Updates'],
  query: FullUpdateQuery,
  failures: { '4xx': ErrorAnswer },
} as const;

function toNone(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'full_update_missing') return null;
  throw error;
}

interface OpenFullUpdateParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
}

/** Source: docs/interface.md §4.4 rules 30 to 32. */
export const openFullUpdateRoutes =
  ({ catalog: { fullUpdates }, answerOnce }: OpenFullUpdateParts): Routes =>
  (server) => {
    const show = {
      ...about,
      method: 'GET',
      summary: 'The open full update',
      answer: { 200: Shown },
    } as const;
    serve(server, { ...show, config: { guard: 'project', access: 'write' } }, ({ project, query }) =>
      fullUpdates.describe(project.id, query.fullUpdateId),
    );
    const find = {
      method: 'GET',
      path: '/management/projects/:id/full-update',
      ...{ tags: ['Updates'], params: ProjectParams },
      summary: 'The open full update, or that there is none',
      answer: { 200: Found },
    } as const;
    serve(server, { ...find, config: { guard: 'management', access: 'manage' } }, async ({ project }) => ({
      fullUpdate: await fullUpdates.describe(project.id, undefined).catch(toNone),
    }));
    const drop = {
      ...about,
      method: 'DELETE',
      config: { guard: 'project', access: 'write' },
      summary: 'Give up the open full update',
      ...{ answer: { 200: GivenUp }, answerOnce },
    } as const;
    serveOnce(server, drop, ({ project, query }, once) =>
      once((record) => fullUpdates.giveUp(project.id, query.fullUpdateId, record)),
    );
  };
