import { Type } from 'typebox';
import { answerAs, inProject, type Routes, serveKind } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Chosen } from '../../storage/storage.ts';
import { createRecorder, type DefinitionRouteParts } from './change-record.ts';
import { markOfTable, SentTable, type StoredTable, WireTable } from './table-schemas.ts';

/** Enough for 100,000 pairs of 100 bytes, escaped. */
const takesTable = { maxBodyMib: 32, holds: { values: 400_000 } } as const;
/** How many tables a page has by default. Large tables make a page shorter. */
const PAGE = 100;

const nameOf = ({ id }: Chosen<unknown>) => String(id);

/** Source: docs/interface §12.9. */
export const tableRoutes =
  (parts: DefinitionRouteParts): Routes =>
  (server) => {
    const { answerOnce } = parts;
    const { tables } = parts.relations;
    const kind = serveKind<StoredTable, ChosenProject>(server, {
      ...inProject,
      path: '/management/projects/:id/tables',
      tags: ['Relations'],
      answerOnce,
      idName: 'name',
      idSchema: Type.String({ minLength: 1, maxLength: 255 }),
      answer: answerAs(WireTable, (table: StoredTable) => table),
      markOf: markOfTable,
      markOfAnswer: markOfTable,
    });
    kind.list({
      summary: 'List the tables of a project, by name; large tables make a page shorter than its limit',
      async list({ id }, { limit = PAGE, cursor = '' }) {
        const { tables: items, isLast } = await tables.list(id, cursor, limit);
        return { items, nextCursor: isLast ? null : (items.at(-1)?.name ?? null) };
      },
    });
    const record = createRecorder<StoredTable>(parts, ({ name }) => ({ type: 'table', id: name, name }));
    kind.create({
      summary: 'Create a table of values that go together',
      body: SentTable,
      config: takesTable,
      async create(change, sent) {
        return record(change, 'created', await tables.save(change.place, { table: sent, isNew: true }));
      },
    });
    kind.read({
      summary: 'Read a table; the ETag is for If-Match',
      get: ({ id }, name) => tables.get(id, String(name)),
    });
    kind.change({
      method: 'PUT',
      body: SentTable,
      config: takesTable,
      summary: 'Replace a table; relations that use it are built again',
      async change(change, chosen, sent) {
        if (sent.name !== nameOf(chosen))
          throw new ServiceError('request_invalid', '/name must be the same as the name in the path');
        const saved = { table: sent, isNew: false, expected: chosen.expected };
        return record(change, 'changed', await tables.save(change.place, saved));
      },
    });
    kind.remove({
      summary: 'Delete a table that no relation uses',
      async remove(change, chosen) {
        const name = nameOf(chosen);
        const table = await tables.get(change.place.id, name);
        await tables.remove(change.place.id, { name, ...(chosen.expected && { expected: chosen.expected }) });
        await record(change, 'deleted', table);
      },
    });
  };
