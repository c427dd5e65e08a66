import { isStorableText } from '../../../kernel/storable-text.ts';
import {
  CopyRows,
  copyInto,
  DISTRIBUTED,
  type Postgres,
  type SqlSession,
  type SqlTransaction,
} from '../../../storage/postgres/postgres.ts';
import { callsOfProject, own, type Program, performOn, run, sql, text } from '../../../storage/storage.ts';
import type { Operation, ThreadPool } from '../../../storage/threads/threads.ts';
import { type BatchDerivation, placeDerived } from '../../derivation.ts';
import {
  type AnsweredCatalog,
  CachedWriter,
  coalesceReads,
  createPathIds,
  LookupAnswers,
  type LookupParts,
  MADE_AT_ONCE_BYTES,
  type ServedAnswer,
} from '../../lookup/lookup.ts';
import {
  type AttributeRow,
  type Ontology,
  type StoredOntology,
  toOntology,
} from '../../ontology/ontology.ts';
import type { CatalogSnapshots, CatalogStore } from '../../port.ts';
import { rawOf } from '../../products/products.ts';
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
import { change, findCategoryIds } from '../state-store.ts';

/** How the parsing threads read catalogs in PostgreSQL, and the reads of lookups. */

/**
 * Products of project $1 with the identifiers $2, `w.identifier`, and their documents: found one by one by the index, which `limit`
 * makes sure of. Compared with `any` or joined as they are, PostgreSQL may read the whole table instead, when it has no
 * statistics yet or plans for any list: 14 s for 10,000 of 60,000 products.
 */
const REQUESTED_DOCUMENTS = `unnest($2::text[]) w (identifier) cross join lateral
  (select * from product where project_id = $1 and identifier = w.identifier limit 1) p cross join lateral
  (select * from document where project_id = $1 and id = p.document_id limit 1) d`;

/** Catalogs in PostgreSQL as the parsing threads read them: one statement for all products of a batch. */
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
  read: (projectId, work) =>
    postgres.snapshot((session) => {
      const snapshot = openSnapshot(
        (program) => performOn(session, projectId, program),
        () => derivation.open(session, projectId),
      );
      return work(snapshot);
    }),
});

interface PostgresCatalogParts extends LookupParts {
  readonly postgres: Postgres;
  /** Where lookups read: a replica or the primary. */
  readonly readPostgres: () => Postgres;
  /** Threads that write; one project's writes of this process run one after another. */
  readonly writers: ThreadPool;
}

/** Catalogs in PostgreSQL, shared by any number of processes. */
export function createPostgresCatalogStore(parts: PostgresCatalogParts): CatalogStore {
  const { postgres, readPostgres, writers } = parts;
  const answers = new LookupAnswers(parts);
  const findServed = createPostgresAnswers();
  const read: Perform = (projectId, program) => performOn(postgres, projectId, program);
  const readState: Perform = (projectId, program) =>
    postgres.snapshot((session) => performOn(session, projectId, program));
  /** Of those catalogs that were ever written to. */
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
      const last = answers.lastKnown(projectId);
      if (last !== undefined && answers.holdsAll(last, identifiers)) {
        const present = catalogIn(projectId, (await readVersion(projectId)) ?? 0);
        const cached = answers.findCached(present, identifiers, frame);
        if (cached !== undefined) return cached;
      }
      const storable = identifiers.filter(isStorableText);
      const { version, served } = await findServed(readPostgres(), projectId, storable);
      return answers.answer(
        catalogIn(projectId, version),
        { identifiers, frame },
        { find: (one) => served.get(one) },
      );
    },
    async close() {},
  };
}

const catalogIn = (projectId: number, version: number): AnsweredCatalog => ({
  ...{ projectId, version, edition: version },
});

/** Catalogs whose writers are cached. */
const CACHED_CATALOGS = 32;

/** What makes answers of one catalog. */
function createCatalogAnswers() {
  const paths = createPathIds();
  return { paths, writer: new CachedWriter(paths.idOf) };
}

interface ServedRow {
  readonly version: number | null;
  /** JSON, in the first row and when another version was known. */
  readonly ontology: string | null;
  readonly identifier: string | null;
  readonly id: number;
  readonly document: number;
  readonly updatedAt: number;
  /** null: the uploads are too long together. */
  readonly raw: string | null;
}

const ONTOLOGY = `select json_build_object('mode', c.ontology_mode, 'revision', c.ontology_revision,
    'unitAliases', c.unit_aliases, 'attributes',
    (select json_agg(json_build_object('id', a.id, 'name', a.name, 'type', a.type, 'unitName', a.unit_name,
       'decimal', a.decimal, 'synonyms', a.synonyms) order by a.id) from attribute a where a.project_id = $1))::text
  from catalog c where c.project_id = $1`;

const VERSION = '(select catalog_version from catalog where project_id = $1)';

const SERVED = `select ${VERSION} as version,
    case when row_number() over () = 1 and ${VERSION} is distinct from $3::bigint then (${ONTOLOGY}) end as ontology, f.*
  from (select 1) one left join lateral (
    select p.identifier, p.id, p.document_id as document, p.updated_at as "updatedAt",
      case when sum(octet_length(d.raw)) over () <= ${MADE_AT_ONCE_BYTES} then d.raw end as raw from ${REQUESTED_DOCUMENTS}) f on true`;

/** Answers of catalogs in PostgreSQL, made of their uploads. */
function createPostgresAnswers() {
  const catalogs = new Map<number, ReturnType<typeof createCatalogAnswers>>();

  function open(projectId: number) {
    const catalog = catalogs.get(projectId) ?? createCatalogAnswers();
    catalogs.delete(projectId);
    catalogs.set(projectId, catalog);
    const oldest = catalogs.keys().next().value;
    if (catalogs.size > CACHED_CATALOGS && oldest !== undefined) catalogs.delete(oldest);
    return catalog;
  }

  /**
   * One statement, so products are of the version that comes with them; another where category paths are new. All are 'long'
   * where their uploads are too many bytes together.
   */
  return async (session: SqlSession, projectId: number, identifiers: readonly string[]) => {
    const catalog = open(projectId);
    const { version: known } = catalog.writer;
    const present = known === undefined ? undefined : catalog.writer.find(known);
    const rows = await session.rows<ServedRow>(SERVED, [projectId, identifiers, known ?? null]);
    const [first] = rows;
    const version = first?.version ?? 0;
    const writer =
      first?.ontology || present === undefined
        ? catalog.writer.follow(version, readOntologyRow(first?.ontology))
        : present;
    const make = () => {
      writer.begin();
      return rows.flatMap(
        ({ identifier, id, document, updatedAt, raw }): [string, ServedAnswer | 'long'][] => {
          if (identifier === null) return [];
          if (raw === null) return [[identifier, 'long']];
          const answer = Buffer.from(writer.write(Buffer.from(raw)));
          return [[identifier, { id, document, updatedAt, answer }]];
        },
      );
    };
    const find = (paths: readonly string[]) => performOn(session, projectId, findCategoryIds(paths));
    return { version, served: new Map(await catalog.paths.complete(make, find)) };
  };
}

function readOntologyRow(json: string | null | undefined): Ontology {
  if (!json) return { mode: 'automatic', revision: 0, attributes: [] };
  const { attributes, ...stored } = JSON.parse(json) as StoredOntology & {
    attributes: readonly AttributeRow[] | null;
  };
  return toOntology(stored, attributes ?? []);
}

/** What a writing thread changes catalogs with. */
interface PostgresWriter {
  readonly postgres: Postgres;
  readonly derivation: BatchDerivation;
}

/** The operations of the writing threads, with the same names as in the embedded store. */
export function postgresWriterOperations({
  postgres,
  derivation,
}: PostgresWriter): Record<string, Operation> {
  const inOne =
    (kind: 'transaction' | 'repeatable'): Transact =>
    (projectId, work) =>
      postgres[kind]((tx) => performOn(tx, projectId, work(writeTo(tx, projectId, derivation))));
  return {
    ...programOperations(inOne('transaction'), inOne('repeatable')),
    async removeCatalog({ projectId }: { projectId: number }) {
      await postgres.transaction((tx) => performOn(tx, projectId, change(removeRows)));
      return {};
    },
  };
}

const DOCUMENT = copyInto('document', ['project_id', 'id', 'product_id', 'raw']);
/** Of a row beside its texts. */
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

/** Removes all rows of a project's catalog, also those that a running change is about to write. */
function* removeRows(): Program<void> {
  for (const table of DISTRIBUTED) yield* run(sql`delete from ${text(table)} where ${own()}`);
}
