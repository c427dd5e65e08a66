import { type Postgres, performOn, type SqlSession } from '../../../storage/storage.ts';
import { KeptWriter, MADE_AT_ONCE_BYTES, type ServedAnswer } from '../../lookup/lookup.ts';
import {
  type AttributeRow,
  type Ontology,
  type StoredOntology,
  toOntology,
} from '../../ontology/ontology.ts';
import type { AnsweredProduct } from '../../port.ts';
import type { UploadedProduct } from '../../products/products.ts';
import { readOntology } from '../state-store.ts';
import { findCategories, findStored, WANTED_DOCUMENTS } from './reader-store.ts';

/** Answers of catalogs in PostgreSQL, made of their uploads. */
export interface PostgresAnswers {
  /**
   * One statement, so products are of the version that comes with them; another where category paths are new. All are 'long'
   * where their uploads are too many bytes together.
   */
  findServed(
    session: SqlSession,
    projectId: number,
    identifiers: readonly string[],
  ): Promise<{ version: number; served: ReadonlyMap<string, ServedAnswer | 'long'> }>;
}

/** Catalogs whose writers are kept. */
const KEPT_CATALOGS = 32;

/** What makes answers of one catalog. Ids of category paths are for ever. */
class CatalogAnswers {
  readonly ids = new Map<string, number>();
  readonly missing = new Set<string>();
  readonly writer = new KeptWriter((path) => {
    const id = this.ids.get(path);
    if (id === undefined) this.missing.add(path);
    return id;
  });

  /** @returns what `make` makes once all ids are known that it asks for */
  async withIds<Result>(session: SqlSession, projectId: number, make: () => Result): Promise<Result> {
    this.missing.clear();
    const made = make();
    if (this.missing.size === 0) return made;
    for (const [path, id] of await findCategories(session, projectId, [...this.missing]))
      this.ids.set(path, id);
    return make();
  }
}

interface ServedRow {
  readonly version: number | null;
  /** JSON, in the first row and when another version was known. */
  readonly ontology: string | null;
  readonly identifier: string | null;
  readonly id: number;
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
    select p.identifier, p.id, p.updated_at as "updatedAt",
      case when sum(octet_length(d.raw)) over () <= ${MADE_AT_ONCE_BYTES} then d.raw end as raw from ${WANTED_DOCUMENTS}) f on true`;

export function createPostgresAnswers(): PostgresAnswers {
  const catalogs = new Map<number, CatalogAnswers>();

  function open(projectId: number): CatalogAnswers {
    const catalog = catalogs.get(projectId) ?? new CatalogAnswers();
    catalogs.delete(projectId);
    catalogs.set(projectId, catalog);
    const oldest = catalogs.keys().next().value;
    if (catalogs.size > KEPT_CATALOGS && oldest !== undefined) catalogs.delete(oldest);
    return catalog;
  }

  return {
    async findServed(session, projectId, identifiers) {
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
        return rows.flatMap(({ identifier, id, updatedAt, raw }): [string, ServedAnswer | 'long'][] => {
          if (identifier === null) return [];
          if (raw === null) return [[identifier, 'long']];
          const answer = Buffer.from(writer.write(Buffer.from(raw)));
          return [[identifier, { id, updatedAt, answer }]];
        });
      };
      return { version, served: new Map(await catalog.withIds(session, projectId, make)) };
    },
  };
}

function readOntologyRow(json: string | null | undefined): Ontology {
  if (!json) return { mode: 'automatic', revision: 0, attributes: [] };
  const { attributes, ...stored } = JSON.parse(json) as StoredOntology & {
    attributes: readonly AttributeRow[] | null;
  };
  return toOntology(stored, attributes ?? []);
}

/** On one snapshot: it takes several statements. */
export const findAnswered = (
  postgres: Postgres,
  projectId: number,
  identifier: string,
): Promise<AnsweredProduct | undefined> =>
  postgres.snapshot(async (session) => {
    const stored = await findStored(session, projectId, identifier);
    if (stored === undefined) return undefined;
    const { categories } = JSON.parse(stored.raw) as UploadedProduct;
    const paths = categories.map(({ path }) => JSON.stringify(path));
    const ids = await findCategories(session, projectId, paths);
    const writer = new KeptWriter((path) => ids.get(path)).follow(
      0,
      await performOn(session, projectId, readOntology()),
    );
    writer.begin();
    return { ...stored, answer: writer.write(Buffer.from(stored.raw)).toString() };
  });
