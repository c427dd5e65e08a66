import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type AnswerOnce,
  ErrorAnswer,
  IfMatch,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
} from '../http/http.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Catalog } from './catalog.ts';
import {
  ExportQuery,
  OntologyDocument,
  ProductDetail,
  ProductPage,
  ProductParams,
  ProjectParams,
} from './catalog-schemas.ts';
import { describeStoredProduct, exportLine, toExportItem } from './export.ts';
import type { Ontology } from './ontology.ts';
import { markOfOntology } from './ontology-change.ts';
import { checkOntology } from './ontology-check.ts';

export interface CatalogRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  /** @throws not_found for a project that does not exist or is out of the caller's reach */
  getProject(request: FastifyRequest, projectId: number): Promise<ChosenProject>;
  /** Writes the entry of the audit log, when there are details, and the answer beside it (§7.5). */
  recordOntologyChange(
    request: FastifyRequest,
    projectId: number,
    change: {
      details: Record<string, unknown> | undefined;
      beside: (tx: ControlTransaction) => Promise<void>;
    },
  ): Promise<void>;
}

const config = { guard: 'management', access: 'manage' } as const;
const failures = { '4xx': ErrorAnswer };
const EXPORT_PAGE = 500;

/** Source: docs/interface.md §11.1 and §14.3. */
export const catalogRoutes =
  (parts: CatalogRouteParts): Routes =>
  (server) => {
    serveOntology(server, parts);
    serveOntologyChange(server, parts);
    serveProductList(server, parts);
    serveProduct(server, parts);
  };

function serveOntology(server: Server, { catalog, getProject }: CatalogRouteParts): void {
  server.get(
    '/management/projects/:id/ontology',
    {
      config,
      schema: {
        tags: ['Ontology'],
        summary: 'Read the ontology of a project; the ETag is for If-Match',
        params: ProjectParams,
        response: { 200: OntologyDocument, ...failures },
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      return answerOntology(reply, await catalog.store.getOntology(project.id));
    },
  );
}

function serveOntologyChange(
  server: Server,
  { catalog, answerOnce, getProject, recordOntologyChange }: CatalogRouteParts,
): void {
  server.put(
    '/management/projects/:id/ontology',
    {
      config: { ...config, maxBodyMib: 16 },
      schema: {
        tags: ['Ontology'],
        summary: 'Replace the ontology of a project; the catalog is extracted again by a task',
        params: ProjectParams,
        headers: IfMatch,
        body: OntologyDocument,
        response: { 200: OntologyDocument, ...failures },
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      checkOntology(request.body);
      const wanted = { ...request.body, expected: readIfMatch(request) };
      const answer = await answerOnce(request, async (record) => {
        const { ontology, changed } = await catalog.ontology.replace(project, wanted);
        const { mode, attributes } = ontology;
        const details = changed ? { mode, attributes: attributes.length } : undefined;
        const beside = (tx: ControlTransaction) => record(tx, { mode, attributes });
        await recordOntologyChange(request, project.id, { details, beside });
        return { mode, attributes };
      });
      return answerOntology(reply, answer);
    },
  );
}

function answerOntology(reply: FastifyReply, ontology: Pick<Ontology, 'mode' | 'attributes'>): never {
  const { mode, attributes } = ontology;
  sendMark(reply, markOfOntology(ontology));
  return { mode, attributes } as never;
}

function serveProductList(server: Server, { catalog, getProject }: CatalogRouteParts): void {
  server.get(
    '/management/projects/:id/products',
    {
      config,
      schema: {
        tags: ['Products'],
        summary: 'List or export the catalog of a project',
        params: ProjectParams,
        querystring: ExportQuery,
        response: { 200: ProductPage, ...failures },
      },
    },
    async (request, reply) => {
      const project = await getProject(request, request.params.id);
      const { limit = 100, cursor, format = 'json' } = request.query;
      if (format === 'ndjson') {
        reply.type('application/x-ndjson; charset=utf-8');
        return reply.send(Readable.from(exportCatalog(catalog, project.id, readCursor(cursor))) as never);
      }
      const found = await catalog.store.listProducts(project.id, readCursor(cursor), limit + 1);
      const page = found.slice(0, limit);
      const last = page.at(-1);
      const nextCursor = found.length > limit && last !== undefined ? writeCursor(last.identifier) : null;
      return { items: page.map(toExportItem), nextCursor };
    },
  );
}

function serveProduct(server: Server, { catalog, getProject }: CatalogRouteParts): void {
  server.get(
    '/management/projects/:id/products/:identifier',
    {
      config,
      schema: {
        tags: ['Products'],
        summary: 'Read one product: its upload, its facts and what was not extracted',
        params: ProductParams,
        response: { 200: ProductDetail, ...failures },
      },
    },
    async (request) => {
      const project = await getProject(request, request.params.id);
      const product = await catalog.store.findProduct(project.id, request.params.identifier);
      if (product === undefined) throw new ServiceError('not_found');
      return describeStoredProduct(product, await catalog.store.getOntology(project.id)) as never;
    },
  );
}

async function* exportCatalog(
  catalog: Catalog,
  projectId: number,
  from: string | undefined,
): AsyncGenerator<string> {
  for (let after = from; ; ) {
    const page = await catalog.store.listProducts(projectId, after, EXPORT_PAGE);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page.map(exportLine).join('');
    after = last.identifier;
  }
}

const writeCursor = (identifier: string) => Buffer.from(identifier).toString('base64url');

function readCursor(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : Buffer.from(cursor, 'base64url').toString();
}
