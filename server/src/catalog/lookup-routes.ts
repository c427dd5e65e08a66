import type { FastifyReply } from 'fastify';
import { ErrorAnswer, type Routes } from '../http/http.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type AnswerBuffers, createAnswerBuffers } from './answer-buffers.ts';
import type { Catalog } from './catalog.ts';
import {
  IdentifierQuery,
  IdentifiersBody,
  IdentifiersQuery,
  LookupProduct,
  ProductList,
} from './catalog-schemas.ts';
import { checkIdentifiers, readIdentifiers } from './identifiers.ts';

const tags = ['Lookup'];
const failures = { '4xx': ErrorAnswer };
const JSON_TYPE = 'application/json; charset=utf-8';
const HEAD = Buffer.from('{"products":[');
const COMMA = 0x2c;
const TAIL = Buffer.from(']}');
/** 1,000 identifiers of 255 characters, each up to twelve bytes of JSON: two escaped surrogates. */
const LOOKUP_MAX_MIB = 4;

/** Source: docs/interface.md §4.2. */
export const lookupRoutes =
  (catalog: Catalog): Routes =>
  (server) => {
    const config = { guard: 'project', access: 'read' } as const;
    const buffers = createAnswerBuffers();

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
        const answers = await catalog.store.findAnswers(request.project.id, identifiers);
        return sendAnswers(reply, buffers, answers) as never;
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
        const answers = await catalog.store.findAnswers(request.project.id, identifiers);
        return sendAnswers(reply, buffers, answers) as never;
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
        const [answer] = await catalog.store.findAnswers(request.project.id, [identifier]);
        if (answer === undefined) {
          throw new ServiceError('not_found', { details: [`no product ${JSON.stringify(identifier)}`] });
        }
        return reply.type(JSON_TYPE).send(answer as never);
      },
    );
  };

/** Bytes between bytes: nothing is parsed or converted. */
function sendAnswers(
  reply: FastifyReply,
  buffers: AnswerBuffers,
  answers: readonly Uint8Array[],
): FastifyReply {
  let length = HEAD.length + TAIL.length + Math.max(answers.length - 1, 0);
  for (const answer of answers) length += answer.length;
  const { buffer, release } = buffers.take(length);
  reply.raw.once('close', release);
  buffer.set(HEAD);
  let at = HEAD.length;
  for (const answer of answers) {
    if (at > HEAD.length) buffer[at++] = COMMA;
    buffer.set(answer, at);
    at += answer.length;
  }
  buffer.set(TAIL, at);
  return reply.type(JSON_TYPE).send(buffer.subarray(0, length));
}
