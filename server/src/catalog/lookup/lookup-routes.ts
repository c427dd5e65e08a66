import type { FastifyReply } from 'fastify';
import { joinTwins, takeNoBody } from '../../http/bodies/bodies.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type RawAnswer, type Routes, sendJson, serveRaw } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Catalog } from '../catalog.ts';
import type { AnswerOrder, Frame, JoinedAnswers } from '../port.ts';
import { checkIdentifiers, readIdentifierList, readIdentifiers, refuseCommas } from '../products/products.ts';
import {
  IDENTIFIERS_PER_REQUEST,
  IdentifierQuery,
  IdentifiersBody,
  IdentifiersQuery,
  LookupProduct,
  ProductList,
} from '../products/schemas/schemas.ts';

const LIST: Frame = { head: Buffer.from('{"products":['), tail: Buffer.from(']}') };
const ALONE: Frame = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
/**
 * A body has up to 1,000 identifiers of 255 characters, each with up to twelve bytes of JSON (two escaped
 * surrogates). A refusal counts up to 20,000 identifiers.
 */
const takesIdentifiers = {
  maxBodyMib: 3,
  holds: {
    values: 20_000,
    list: { most: IDENTIFIERS_PER_REQUEST, code: 'too_many_identifiers' },
  },
} as const;

const config = { guard: 'project', access: 'read' } as const;
const about = {
  config,
  tags: ['Lookup'],
  why: 'answers are cached as bytes and joined without being parsed',
};

/** Source: docs/interface §4.2. */
export const lookupRoutes =
  ({ catalog }: { readonly catalog: Catalog }): Routes =>
  (server) => {
    /**
     * Answers without an abort signal if it can, because the signal would cost a short lookup more than everything
     * else.
     */
    const find = async (reply: FastifyReply, order: AnswerOrder): Promise<JoinedAnswers> =>
      (await catalog.store.findAnswers(order)) ??
      whileCallerWaits(reply, (signal) => catalog.store.makeAnswers(order, signal));
    const path = '/product-service/products-by-sku';
    const list = { ...about, query: IdentifiersQuery, answer: { 200: ProductList } };
    const summary = 'Look up products by identifier';
    serveRaw(server, `GET ${path}`, {
      ...list,
      summary,
      async handle({ project, query }, reply) {
        const identifiers = readIdentifiers(query.identifiers);
        await refuseCommas(query.identifiers, (some) => catalog.store.hasAny(project.id, some));
        return sendAnswers(reply, await find(reply, { projectId: project.id, identifiers, frame: LIST }));
      },
    });

    serveRaw(server, `POST ${path}`, {
      ...list,
      config: { ...config, ...takesIdentifiers, takesProjectInBody: true },
      hooks: { preValidation: takeNoBody },
      summary: `${summary}, without the limits of a URL`,
      body: IdentifiersBody,
      async handle({ project, query: { identifiers: listed }, body }, reply) {
        const inQuery = {
          identifiers: listed === undefined ? undefined : readIdentifierList(listed),
        };
        const { identifiers: sent } = joinTwins(inQuery, { identifiers: body.identifiers });
        const identifiers = checkIdentifiers(sent ?? readIdentifierList(undefined));
        return sendAnswers(reply, await find(reply, { projectId: project.id, identifiers, frame: LIST }));
      },
    });

    serveRaw(server, 'GET /product-service/product-by-sku', {
      ...about,
      summary: 'Look up one product',
      query: IdentifierQuery,
      answer: { 200: LookupProduct },
      async handle({ project, query: { identifier } }, reply) {
        const answers = await find(reply, { projectId: project.id, identifiers: [identifier], frame: ALONE });
        if (answers.count === 0) {
          throw new ServiceError('not_found', `no product ${JSON.stringify(identifier)}`);
        }
        return sendAnswers(reply, answers);
      },
    });
  };

function sendAnswers(reply: FastifyReply, { bytes, release }: JoinedAnswers): RawAnswer {
  reply.raw.once('close', release);
  return sendJson(reply, bytes);
}
