import type { FastifyReply } from 'fastify';
import { ErrorAnswer, type Routes } from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Catalog } from '../catalog.ts';
import type { Frame, JoinedAnswers } from '../port.ts';
import {
  checkIdentifiers,
  IdentifierQuery,
  IdentifiersBody,
  IdentifiersQuery,
  LookupProduct,
  ProductList,
  readIdentifiers,
} from '../products/products.ts';

const tags = ['Lookup'];
const failures = { '4xx': ErrorAnswer };
const JSON_TYPE = 'application/json; charset=utf-8';
const LIST: Frame = { head: Buffer.from('{"products":['), tail: Buffer.from(']}') };
const ALONE: Frame = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
/** 1,000 identifiers of 255 characters, each up to twelve bytes of JSON: two escaped surrogates. */
const LOOKUP_MAX_MIB = 4;

/** Source: docs/interface.md §4.2. */
export const lookupRoutes =
  ({ catalog }: { readonly catalog: Catalog }): Routes =>
  (server) => {
    const config = { guard: 'project', access: 'read' } as const;

    server.get(
      '/product-service/products-by-sku',
      {
        config,
        schema: {
          tags,
          summary: 'Look up products by identifier',
          querystring: IdentifiersQuery,
          response: { 200: ProductList, ...failures },
        },
      },
      async (request, reply) => {
        const identifiers = readIdentifiers(request.query.identifiers);
        const answers = await catalog.store.findAnswers(request.project.id, identifiers, LIST);
        return sendAnswers(reply, answers) as never;
      },
    );

    server.post(
      '/product-service/products-by-sku',
      {
        config: { ...config, maxBodyMib: LOOKUP_MAX_MIB },
        schema: {
          tags,
          summary: 'Look up products by identifier, without the limits of a URL',
          querystring: IdentifiersQuery,
          body: IdentifiersBody,
          response: { 200: ProductList, ...failures },
        },
      },
      async (request, reply) => {
        const identifiers = checkIdentifiers(request.body.identifiers);
        const answers = await catalog.store.findAnswers(request.project.id, identifiers, LIST);
        return sendAnswers(reply, answers) as never;
      },
    );

    server.get(
      '/product-service/product-by-sku',
      {
        config,
        schema: {
          tags,
          summary: 'Look up one product',
          querystring: IdentifierQuery,
          response: { 200: LookupProduct, ...failures },
        },
      },
      async (request, reply) => {
        const { identifier } = request.query;
        const answers = await catalog.store.findAnswers(request.project.id, [identifier], ALONE);
        if (answers.count === 0) {
          throw new ServiceError('not_found', { details: [`no product ${JSON.stringify(identifier)}`] });
        }
        return sendAnswers(reply, answers) as never;
      },
    );
  };

function sendAnswers(reply: FastifyReply, { bytes, release }: JoinedAnswers): FastifyReply {
  reply.raw.once('close', release);
  return reply.type(JSON_TYPE).send(bytes);
}
