import { isStorableText } from '../../../kernel/storable-text.ts';
import {
  CopyRows,
  copyInto,
  DISTRIBUTED,
  type Postgres,
  type SqlTransaction,
} from '../../../storage/postgres/postgres.ts';
import {
  callsOfProject,
  own,
  type Program,
  performOn,
  run,
  sql,
  text,
} from '../../../storage/programs/programs.ts';
import type { Operation, ThreadPool } from '../../../storage/threads/threads.ts';
import { type BatchDerivation, placeDerived } from '../../derivation.ts';
import { coalesceReads, LookupAnswers, type LookupParts } from '../../lookup/lookup.ts';
import type { CatalogSnapshots, CatalogStore } from '../../port.ts';
import { rawOf } from '../../products/documents/documents.ts';
import {
  COMPARISONS,
  createCatalogReads,
  createCatalogWrites,
  openSnapshot,
  type Perform,
  programOperations,
  type Transact,
} from '../operations.ts';
import type { DocumentWriter } from '../staged-store.ts';
import { changeCatalog } from '../state-store.ts';
import { PostgresLookups } from './lookup-store.ts';

/** Catalogs in PostgreSQL for parsing threads, which read all products of a batch with one statement. */
export const createPostgresSnapshots = ({
  postgres,
  readPayload,
  derivation,
}: {
  postgres: Pick<Postgres, 'snapshot'>;
  readPayload: CatalogSnapshots['readPayload'];
  derivation: BatchDerivation;
}): CatalogSnapshots => ({
  readPayload,
  read: (projectId, budget, work) =>
    budget.heed((signal) =>
      postgres.snapshot((session) => {
        const snapshot = openSnapshot(
          (program) => performOn(session, projectId, program),
          () => derivation.open(session, projectId),
        );
        return work(budget.meter(snapshot));
      }, signal),
    ),
});

interface PostgresCatalogParts extends LookupParts {
  readonly postgres: Postgres;
  /** Returns the database for lookups: a replica or the primary. */
  readonly readPostgres: () => Postgres;
  /** Threads that write. In this process, the writes of one project run one after another. */
  readonly writers: ThreadPool;
}

/** Catalogs in PostgreSQL, shared by any number of processes. */
export function createPostgresCatalogStore(parts: PostgresCatalogParts): CatalogStore {
  const { postgres, readPostgres, writers } = parts;
  const answers = new LookupAnswers(parts);
  const lookups = new PostgresLookups(answers);
  const read: Perform = (projectId, program) => performOn(postgres, projectId, program);
  const readState: Perform = (projectId, program) =>
    postgres.snapshot((session) => performOn(session, projectId, program));
  /** Returns the versions of catalogs that were written at least once. */
  const readVersion = coalesceReads(async (projectIds: readonly number[]) => {
    const rows = await readPostgres().rows<{ id: number; version: number }>(
      'select project_id as id, catalog_version as version from catalog where project_id = any($1)',
      [projectIds],
    );
    return new Map(rows.map(({ id, version }) => [id, version]));
  });

  return {
    ...createCatalogReads(read, readState),
    ...callsOfProject(COMPARISONS, readState),
    ...createCatalogWrites(writers),
    makeAnswers: (order, signal) => answers.make(order, signal),
    async findAnswers({ projectId, identifiers, frame }) {
      const last = answers.findLastAnswered(projectId);
      if (last !== undefined && answers.holdsAll(last, identifiers)) {
        const version = (await readVersion(projectId)) ?? 0;
        const cached = version === last.version && answers.findCached(last, identifiers, frame);
        if (cached) return cached;
      }
      const requested = { projectId, identifiers: identifiers.filter(isStorableText) };
      const { catalog, ...lookup } = await lookups.find(readPostgres(), last, requested);
      return answers.answer(catalog, { identifiers, frame }, lookup);
    },
    async close() {},
  };
}

/** The operations of the writing threads, with the same names as in the embedded store. */
export function postgresWriterOperations({
  postgres,
  derivation,
}: {
  readonly postgres: Postgres;
  readonly derivation: BatchDerivation;
}): Record<string, Operation> {
  const inOne =
    (kind: 'transaction' | 'repeatable'): Transact =>
    (projectId, work) =>
      postgres[kind]((tx) => performOn(tx, projectId, work(writeTo(tx, projectId, derivation))));
  return {
    ...programOperations(inOne('transaction'), inOne('repeatable')),
    async removeCatalog({ projectId }: { projectId: number }) {
      await postgres.transaction((tx) => performOn(tx, projectId, changeCatalog(removeRows)));
      return {};
    },
  };
}

const DOCUMENT = copyInto('document', ['project_id', 'id', 'product_id', 'raw']);
/** The size of a row without its texts. */
const ROW_BYTES = 64;

const writeTo = (tx: SqlTransaction, projectId: number, derivation: BatchDerivation): DocumentWriter => ({
  async write(packed, planned) {
    if (planned.length === 0) return;
    const rows = new CopyRows(4, packed.bytes.length + planned.length * ROW_BYTES);
    for (const { row, id, productId } of planned)
      rows.begin().integer(projectId).integer(id).integer(productId).bytes(rawOf(packed, row));
    await tx.copyIn(DOCUMENT, rows.finish());
    const placed = placeDerived(packed, planned);
    if (placed.documents.length > 0) await derivation.place(tx, projectId, placed);
  },
  removeDerived: (documents) => derivation.remove(tx, projectId, documents),
  tidyDerived: () => false,
});

/** Removes all rows of a project's catalog, including rows that a change in progress is about to write. */
function* removeRows(): Program<void> {
  for (const table of DISTRIBUTED) yield* run(sql`delete from ${text(table)} where ${own()}`);
}
