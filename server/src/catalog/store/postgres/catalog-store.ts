import { BoundedMap } from '../../../kernel/bounded-map.ts';
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
  type SqlSession,
  sql,
  text,
} from '../../../storage/programs/programs.ts';
import type { Operation, ThreadPool } from '../../../storage/threads/threads.ts';
import { type BatchDerivation, placeDerived } from '../../derivation.ts';
import {
  type AnsweredCatalog,
  CachedWriter,
  catalogOf,
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
import { changeCatalog, findCategories } from '../state-store.ts';

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
  /** Where lookups read: a replica or the primary. */
  readonly readPostgres: () => Postgres;
  /** Threads that write; one project's writes in this process run one after another. */
  readonly writers: ThreadPool;
}

/** Catalogs in PostgreSQL, shared by any number of processes. */
export function createPostgresCatalogStore(parts: PostgresCatalogParts): CatalogStore {
  const { postgres, readPostgres, writers } = parts;
  const answers = new LookupAnswers(parts);
  const findServed = createPostgresAnswers(answers);
  const read: Perform = (projectId, program) => performOn(postgres, projectId, program);
  const readState: Perform = (projectId, program) =>
    postgres.snapshot((session) => performOn(session, projectId, program));
  /** Only includes catalogs that were ever written. */
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
        const version = (await readVersion(projectId)) ?? 0;
        const cached = version === last.version && answers.findCached(last, identifiers, frame);
        if (cached) return cached;
      }
      const requested = { projectId, identifiers: identifiers.filter(isStorableText) };
      const { catalog, ...found } = await findServed(readPostgres(), last, requested);
      return answers.answer(catalog, { identifiers, frame }, found);
    },
    async close() {},
  };
}

/** Catalogs whose writers are cached. */
const CACHED_CATALOGS = 32;

interface ServedRow {
  readonly version: number | null;
  /** JSON, in the first row, if another version was known. */
  readonly ontology: string | null;
  readonly identifier: string | null;
  readonly id: number;
  readonly document: number;
  readonly updatedAt: number;
  /** null: the cached answer was made from the same document, or the uploads are too long together. */
  readonly raw: string | null;
}

const ONTOLOGY = `select json_build_object('mode', c.ontology_mode, 'revision', c.ontology_revision,
    'unitAliases', c.unit_aliases, 'attributes',
    (select json_agg(json_build_array(a.id, a.name, a.type, a.unit_name, a.decimal, a.synonyms) order by a.id)
     from attribute a where a.project_id = $1))::text
  from catalog c where c.project_id = $1`;

const VERSION = '(select catalog_version from catalog where project_id = $1)';

/**
 * Products of project $1 with the identifiers $2, and the uploads of those whose document and time differ from $4 and $5,
 * those of the cached answer. Found one by one by the index, which `limit` ensures: with `any` or a plain join PostgreSQL may
 * read the whole table instead, if it has no statistics yet or plans for any list: 14 s for 10,000 of 60,000 products.
 */
const SERVED = `select ${VERSION} as version,
    case when row_number() over () = 1 and ${VERSION} is distinct from $3::bigint then (${ONTOLOGY}) end as ontology, f.*
  from (select 1) one left join lateral (
    select p.identifier, p.id, p.document_id as document, p.updated_at as "updatedAt",
      case when sum(octet_length(d.raw)) over () <= ${MADE_AT_ONCE_BYTES} then d.raw end as raw
    from unnest($2::text[], $4::bigint[], $5::bigint[]) w (identifier, document, at) cross join lateral
      (select * from product where project_id = $1 and identifier = w.identifier limit 1) p left join lateral
      (select * from document where project_id = $1 and id = p.document_id
        and (p.document_id, p.updated_at) is distinct from (w.document, w.at) limit 1) d on true) f on true`;

/** Made from the uploads of products whose present version is not cached. */
function createPostgresAnswers(answers: LookupAnswers) {
  const create = () => {
    const paths = createPathIds();
    return { paths, writer: new CachedWriter(paths.idOf) };
  };
  const catalogs = new BoundedMap<number, ReturnType<typeof create>>({ most: CACHED_CATALOGS });

  function open(projectId: number) {
    return catalogs.getOrInsertComputed(projectId, create);
  }

  /**
   * One statement, so that products are of the version that comes with them.
   * @param origins what the cached answers were made from, in the order of the identifiers
   */
  async function read(
    session: SqlSession,
    projectId: number,
    { identifiers, origins }: { identifiers: readonly string[]; origins: Origins },
  ) {
    const { paths, writer } = open(projectId);
    const { last } = writer;
    const documents = identifiers.map((_, at) => origins[at]?.document ?? null);
    const times = identifiers.map((_, at) => origins[at]?.at ?? null);
    const values = [projectId, identifiers, last?.version ?? null, documents, times];
    const rows = await session.rows<ServedRow>(SERVED, values);
    const { version, ontology } = rows[0] ?? { version: 0, ontology: null };
    const present =
      last?.version === (version ?? 0) ? last : writer.follow(version ?? 0, readOntologyRow(ontology));
    return { rows, paths, present };
  }

  /** Reads the uploads of products that changed since they were answered, and of all if a new ontology emptied the cache. */
  async function readChanged(
    session: SqlSession,
    last: AnsweredCatalog | undefined,
    { projectId, identifiers }: { projectId: number; identifiers: readonly string[] },
  ) {
    const origins = last === undefined ? [] : answers.listOrigins(last, identifiers);
    const found = await read(session, projectId, { identifiers, origins });
    if (last === undefined || found.present.edition === last.edition) return found;
    const left = answers.listOrigins(catalogOf(projectId, found.present), identifiers);
    if (origins.every((origin, at) => origin === undefined || left[at] !== undefined)) return found;
    return read(session, projectId, { identifiers, origins: [] });
  }

  /** Needs another statement if category paths are new. */
  return async (
    session: SqlSession,
    last: AnsweredCatalog | undefined,
    requested: { projectId: number; identifiers: readonly string[] },
  ) => {
    const { projectId } = requested;
    const { rows, paths, present } = await readChanged(session, last, requested);
    const make = () => {
      present.writer.begin();
      return rows.flatMap(({ identifier, id, document, updatedAt, raw }): [string, ServedAnswer][] => {
        if (identifier === null || raw === null) return [];
        const answer = Buffer.from(present.writer.write(Buffer.from(raw)));
        return [[identifier, { id, document, updatedAt, answer }]];
      });
    };
    const find = (paths: readonly string[]) => performOn(session, projectId, findCategories(paths));
    const made = new Map(await paths.complete(make, find));
    const found = new Map(rows.map((row) => [row.identifier, row]));
    return {
      catalog: catalogOf(projectId, present),
      findOrigin(identifier: string) {
        const row = found.get(identifier);
        return row && { document: row.document, at: row.updatedAt };
      },
      /** Without its upload, all together are long, or its answer was evicted meanwhile. */
      find: (identifier: string) => made.get(identifier) ?? (found.has(identifier) ? 'long' : undefined),
    };
  };
}

type Origins = ReturnType<LookupAnswers['listOrigins']>;

function readOntologyRow(json: string | null | undefined): Ontology {
  if (!json) return { mode: 'automatic', revision: 0, attributes: [] };
  const { attributes, ...stored } = JSON.parse(json) as StoredOntology & {
    attributes: readonly AttributeRow[] | null;
  };
  return toOntology(stored, attributes ?? []);
}

/** With the same names as in the embedded store. */
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
/** Size of a row besides its texts. */
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

/** Removes all rows of a project's catalog, including those that a change in progress is about to write. */
function* removeRows(): Program<void> {
  for (const table of DISTRIBUTED) yield* run(sql`delete from ${text(table)} where ${own()}`);
}
