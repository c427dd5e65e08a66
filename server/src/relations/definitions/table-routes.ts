import { Type } from 'typebox';
import {
  answerAs,
  type ChangeRequest,
  inProject,
  type Routes,
  type RouteTools,
  serveKind,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Projects } from '../../projects/projects.ts';
import type { Chosen, Database } from '../../storage/storage.ts';
import type { Relations } from '../relations.ts';
import { markOfTable, SentTable, type StoredTable, toWireTable, WireTable } from './table-schemas.ts';

interface TableRouteParts extends RouteTools {
  readonly relations: Relations;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly database: Pick<Database, 'write'>;
}

/** 100,000 pairs of 100 bytes, escaped. */
const takesTable = { maxBodyMib: 32, holds: { values: 400_000 } } as const;
/** Of a page; a table alone may have as many. */
const PAGE = 100;

const nameOf = ({ id }: Chosen<unknown>) => String(id);

/** Source: docs/interface.md §12.9. */
export const tableRoutes =
  ({ relations: { tables }, projects, database, answerOnce }: TableRouteParts): Routes =>
  (server) => {
    const kind = serveKind<StoredTable, ChosenProject>(server, {
      ...{ ...inProject, path: '/management/projects/:id/tables', tags: ['Relations'], answerOnce },
      ...{ idName: 'name', idSchema: Type.String({ minLength: 1, maxLength: 255 }) },
      ...{ answer: answerAs(WireTable, toWireTable), markOf: markOfTable, markOfAnswer: markOfTable },
    });
    kind.list({
      summary: 'List the tables of a project, by name',
      async list({ id }, { limit = PAGE, cursor = '' }) {
        const items = await tables.list(id, cursor, limit);
        return { items, nextCursor: items.length < limit ? null : (items.at(-1)?.name ?? null) };
      },
    });
    const record = async (
      { author, place, beside }: Omit<ChangeRequest<StoredTable, ChosenProject>, 'signal'>,
      { what, table }: { what: 'created' | 'changed' | 'deleted'; table: StoredTable },
    ) => {
      const subject = { type: 'table', id: table.name, name: table.name };
      await database.write('all', async (tx) => {
        await projects.recordChange({ author, projectId: place.id, action: `table.${what}`, subject }, tx);
        await beside(tx, table);
      });
      return table;
    };
    kind.create({
      ...{ summary: 'Create a table of values that go together', body: SentTable, config: takesTable },
      async create(change, sent) {
        const table = await tables.save(change.place, { table: sent, isNew: true });
        return record(change, { what: 'created', table });
      },
    });
    kind.read({
      summary: 'Read a table; the ETag is for If-Match',
      get: ({ id }, name) => tables.get(id, String(name)),
    });
    kind.change({
      ...{ method: 'PUT', body: SentTable, config: takesTable },
      summary: 'Replace a table; relations that use it are built anew',
      async change(change, chosen, sent) {
        if (sent.name !== nameOf(chosen))
          throw new ServiceError('request_invalid', { details: ['/name must be the name in the path'] });
        const table = await tables.save(change.place, {
          table: sent,
          isNew: false,
          expected: chosen.expected,
        });
        return record(change, { what: 'changed', table });
      },
    });
    kind.remove({
      summary: 'Delete a table that no relation uses',
      async remove(change, chosen) {
        const name = nameOf(chosen);
        const table = await tables.get(change.place.id, name);
        await tables.remove(change.place.id, { name, ...(chosen.expected && { expected: chosen.expected }) });
        await record(change, { what: 'deleted', table });
      },
    });
  };
