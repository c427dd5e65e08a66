import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { Id, type RecordAnswer } from '../../http/answers/answers.ts';
import { type Routes, type RouteTools, sendRaw, serveOnce, serveRaw } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';
import type { Projects } from '../../projects/projects.ts';
import { type Task, toWireTask, WireTaskSchema } from '../../tasks/tasks.ts';
import type { Relations } from '../relations.ts';
import type { LinkLine } from './link-lines.ts';
import type { LinkMode } from './link-tasks.ts';

interface LinkRouteParts extends RouteTools {
  readonly relations: Relations;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const NDJSON = 'application/x-ndjson';
const PATH = '/management/projects/:id/relations/:relationId/links';
const about = { tags: ['Relations'], params: Type.Object({ id: Id, relationId: Id }) };
const LinksAnswer = Type.Object({
  status: Type.Literal('success'),
  message: Type.String(),
  task: WireTaskSchema,
});
type LinksAnswer = Static<typeof LinksAnswer>;
const AllowDeletes = Type.Object({
  allowDeletes: optional.integer({
    minimum: 0,
    description: 'the exact number of pairs that may be deleted',
  }),
});

/** Source: docs/interface §12.8. */
export const linkRoutes =
  (parts: LinkRouteParts): Routes =>
  (server) => {
    const { relations, answerOnce, uploadMaxMib } = parts;
    serveRaw(server, `GET ${PATH}`, {
      ...about,
      config: { guard: 'management', access: 'write', role: 'viewer', isPatient: true },
      summary: 'Export the links of a relation as lines, in their order',
      query: Type.Object({
        source: optional.text({
          minLength: 1,
          maxLength: 255,
          description: 'export only the line of this source',
        }),
      }),
      produces: NDJSON,
      why: 'lines are streamed',
      async handle({ project, params: { relationId }, query: { source } }, reply) {
        await relations.links.find(project.id, relationId);
        const lines = writeLines(relations.links.read(project.id, { relationId, source }));
        return sendRaw(reply, `${NDJSON}; charset=utf-8`, Readable.from(lines, { highWaterMark: 1 }));
      },
    });
    const write = {
      ...about,
      config: { guard: 'management', access: 'write', body: 'raw', maxBodyMib: uploadMaxMib },
      consumes: [NDJSON],
      body: Type.Unsafe<undefined>({
        type: 'string',
        description:
          'a line for each source, such as {"source":"A1","targets":["B1",{"identifier":"B2","quantity":2}]}',
      }),
      answer: { 200: LinksAnswer },
      answerOnce,
    } as const;

    serveOnce(server, `PUT ${PATH}`, {
      ...write,
      query: AllowDeletes,
      summary: 'Replace all links of a relation, in a task',
      description:
        'Links that the list does not have are deleted. The delete guard counts the deleted pairs.',
      handle: (request, record) =>
        accept(parts, request, { mode: 'replace', allowDeletes: request.query.allowDeletes, record }),
    });

    serveOnce(server, `PATCH ${PATH}`, {
      ...write,
      summary: 'Replace the links of the sources that are sent, in a task',
      description:
        'A source without targets is removed. Sources that the list does not name keep their links.',
      handle: (request, record) =>
        accept(parts, request, { mode: 'change', allowDeletes: undefined, record }),
    });
  };

async function* writeLines(pages: AsyncIterable<readonly LinkLine[]>): AsyncGenerator<string> {
  for await (const page of pages)
    yield page.map(({ source, targets }) => `${JSON.stringify({ source, targets })}\n`).join('');
}

interface Write {
  readonly mode: LinkMode;
  readonly allowDeletes: number | undefined;
  readonly record: RecordAnswer<LinksAnswer>;
}

async function accept(
  { relations, projects }: LinkRouteParts,
  { caller, project, params, rawBody }: FastifyRequest,
  { mode, allowDeletes, record }: Write,
): Promise<LinksAnswer> {
  const { relationId } = params as { relationId: number };
  const relation = await relations.links.find(project.id, relationId);
  const { name } = relation.definition;
  const action = mode === 'replace' ? 'relation.links_replaced' : 'relation.links_changed';
  const task = await relations.links.accept(project, {
    relationId,
    mode,
    allowDeletes,
    body: rawBody ?? { bytes: new Uint8Array(), encoding: 'identity' },
    async record(tx, task) {
      const subject = { type: 'relation', id: relationId, name };
      await projects.recordChange({ author: caller, projectId: project.id, action, subject }, tx);
      await record(tx, answerTo(task));
    },
  });
  return answerTo(task);
}

const answerTo = (task: Task): LinksAnswer => ({
  status: 'success',
  message: 'Your update will now be started',
  task: toWireTask(task),
});
