import { BoundedMap } from '../../../kernel/bounded-map.ts';
import { performOn, type SqlSession } from '../../../storage/programs/programs.ts';
import {
  type AnsweredCatalog,
  CachedWriter,
  catalogOf,
  createPathIds,
  type LookupAnswers,
  MADE_AT_ONCE_BYTES,
  type ServedAnswer,
} from '../../lookup/lookup.ts';
import {
  type AttributeRow,
  type Ontology,
  type StoredOntology,
  toOntology,
} from '../../ontology/ontology.ts';
import { findCategories } from '../state-store.ts';

/** The number of catalogs whose writers are cached. */
const CACHED_CATALOGS = 32;

interface ServedRow {
  readonly version: number | null;
  /** JSON, only in the first row, and only if the caller knew another version. */
  readonly ontology: string | null;
  readonly identifier: string | null;
  readonly id: number;
  readonly document: number;
  readonly updatedAt: number;
  /** null if the cached answer was made from the same document, or if the uploads together are too long. */
  readonly raw: string | null;
}

const ONTOLOGY = `select json_build_object('mode', c.ontology_mode, 'revision', c.ontology_revision,
    'unitAliases', c.unit_aliases, 'attributes',
    (select json_agg(json_build_array(a.id, a.name, a.type, a.unit_name, a.decimal, a.synonyms) order by a.id)
     from attribute a where a.project_id = $1))::text
  from catalog c where c.project_id = $1`;

const VERSION = '(select catalog_version from catalog where project_id = $1)';

/**
 * Products of project $1 with the identifiers $2, and the uploads of products whose document and time differ from the
 * cached answers, $4 and $5. `limit` ensures that PostgreSQL finds each row by the index. With `any` or a plain join,
 * it may read the whole table, if it has no statistics yet or plans for any list: 14 s for 10,000 of 60,000 products.
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

interface RequestedProducts {
  readonly projectId: number;
  readonly identifiers: readonly string[];
}

interface CachedCatalog {
  readonly paths: ReturnType<typeof createPathIds>;
  readonly writer: CachedWriter;
}

/**
 * Finds the answers of a lookup. It makes answers from the uploads of products whose present version is not cached.
 */
export class PostgresLookups {
  private readonly answers: LookupAnswers;
  private readonly catalogs = new BoundedMap<number, CachedCatalog>({ most: CACHED_CATALOGS });

  constructor(answers: LookupAnswers) {
    this.answers = answers;
  }

  /** Runs a second statement if category paths are new. */
  async find(session: SqlSession, last: AnsweredCatalog | undefined, requested: RequestedProducts) {
    const { projectId } = requested;
    const { rows, paths, present } = await this.readChanged(session, last, requested);
    const make = () => {
      present.writer.begin();
      return rows.flatMap(({ identifier, id, document, updatedAt, raw }): [string, ServedAnswer][] => {
        if (identifier === null || raw === null) return [];
        const answer = Buffer.from(present.writer.write(Buffer.from(raw)));
        return [[identifier, { id, document, updatedAt, answer }]];
      });
    };
    const find = (paths: readonly string[]) => performOn(session, projectId, findCategories(paths));
    const answerByIdentifier = new Map(await paths.complete(make, find));
    const rowByIdentifier = new Map(rows.map((row) => [row.identifier, row]));
    return {
      catalog: catalogOf(projectId, present),
      findOrigin(identifier: string) {
        const row = rowByIdentifier.get(identifier);
        return row && { document: row.document, at: row.updatedAt };
      },
      /** A product has no upload here if all uploads together are too long, or if its answer was evicted since. */
      find: (identifier: string) =>
        answerByIdentifier.get(identifier) ?? (rowByIdentifier.has(identifier) ? 'long' : undefined),
    };
  }

  /**
   * Reads the uploads of products that changed since they were answered. If a new ontology emptied the cache, it
   * reads all uploads.
   */
  private async readChanged(
    session: SqlSession,
    last: AnsweredCatalog | undefined,
    requested: RequestedProducts,
  ) {
    const { answers } = this;
    const { projectId, identifiers } = requested;
    const origins = last === undefined ? [] : answers.listOrigins(last, identifiers);
    const changed = await this.read(session, requested, origins);
    if (last === undefined || changed.present.edition === last.edition) return changed;
    const left = answers.listOrigins(catalogOf(projectId, changed.present), identifiers);
    if (origins.every((origin, index) => origin === undefined || left[index] !== undefined)) return changed;
    return this.read(session, requested, []);
  }

  /**
   * Reads products and their version with one statement, so that they belong together.
   * @param origins the document and time of each cached answer, in the order of the identifiers
   */
  private async read(session: SqlSession, { projectId, identifiers }: RequestedProducts, origins: Origins) {
    const { paths, writer } = this.open(projectId);
    const { last } = writer;
    const documents = identifiers.map((_, index) => origins[index]?.document ?? null);
    const times = identifiers.map((_, index) => origins[index]?.at ?? null);
    const values = [projectId, identifiers, last?.version ?? null, documents, times];
    const rows = await session.rows<ServedRow>(SERVED, values);
    const { version, ontology } = rows[0] ?? { version: 0, ontology: null };
    const present =
      last?.version === (version ?? 0) ? last : writer.follow(version ?? 0, readOntologyRow(ontology));
    return { rows, paths, present };
  }

  private open(projectId: number): CachedCatalog {
    return this.catalogs.getOrInsertComputed(projectId, createCachedCatalog);
  }
}

function createCachedCatalog(): CachedCatalog {
  const paths = createPathIds();
  return { paths, writer: new CachedWriter(paths.idOf) };
}

type Origins = ReturnType<LookupAnswers['listOrigins']>;

function readOntologyRow(json: string | null | undefined): Ontology {
  if (!json) return { mode: 'automatic', revision: 0, attributes: [] };
  const { attributes, ...stored } = JSON.parse(json) as StoredOntology & {
    attributes: readonly AttributeRow[] | null;
  };
  return toOntology(stored, attributes ?? []);
}
