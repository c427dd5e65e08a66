import type { SqlSession, SqlTransaction } from '../../../storage/storage.ts';
import { type AttributeRow, type Ontology, type OntologyMode, toAttribute } from '../../ontology/ontology.ts';

/** A project's row in `catalog`: what a catalog's file keeps in `meta`. A project without a row has these values. */
export interface CatalogRow {
  /** Raised by every change that a reader can see. */
  readonly catalogVersion: number;
  readonly ontologyMode: OntologyMode;
  readonly ontologyRevision: number;
  readonly nextProductId: number;
  readonly nextDocumentId: number;
  readonly nextAttributeId: number;
  readonly nextCategoryId: number;
  readonly nextUndoId: number;
  readonly nextRelationId: number;
  readonly nextBuildId: number;
  readonly derivationRevision: number;
  readonly lastTask: number;
  readonly lastTaskResult: string;
}

const EMPTY: CatalogRow = {
  catalogVersion: 0,
  ontologyMode: 'automatic',
  ontologyRevision: 1,
  nextProductId: 1,
  nextDocumentId: 1,
  nextAttributeId: 1,
  nextCategoryId: 1_000_000_001,
  nextUndoId: 1,
  nextRelationId: 1,
  nextBuildId: 1,
  derivationRevision: 0,
  lastTask: 0,
  lastTaskResult: '{}',
};

const columnOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const COLUMNS = Object.keys(EMPTY)
  .map((name) => `${columnOf(name)} as "${name}"`)
  .join(', ');

export async function readCatalogRow(session: SqlSession, projectId: number): Promise<CatalogRow> {
  const [row] = await session.rows<CatalogRow>(`select ${COLUMNS} from catalog where project_id = $1`, [
    projectId,
  ]);
  return row ?? EMPTY;
}

/**
 * Locks a catalog until the transaction ends: a project has one writer at a time, on any machine. Readers wait for
 * nobody. @returns the row as the last writer left it
 */
export async function lockCatalog(tx: SqlTransaction, projectId: number): Promise<CatalogRow> {
  const lock = () =>
    tx.rows<CatalogRow>(`select ${COLUMNS} from catalog where project_id = $1 for update`, [projectId]);
  const [known] = await lock();
  if (known !== undefined) return known;
  await tx.run('insert into catalog (project_id) values ($1) on conflict do nothing', [projectId]);
  const [made] = await lock();
  return made ?? EMPTY;
}

/** Call it after `lockCatalog`. */
export async function updateCatalog(
  tx: SqlTransaction,
  projectId: number,
  changes: Partial<CatalogRow>,
): Promise<void> {
  const names = Object.keys(changes) as (keyof CatalogRow)[];
  const set = names.map((name, at) => `${columnOf(name)} = $${at + 2}`).join(', ');
  const values = names.map((name) => changes[name] ?? null);
  await tx.run(`update catalog set ${set} where project_id = $1`, [projectId, ...values]);
}

/** One statement: the revision and the attributes are of one state. A removed attribute list is a row of nulls. */
export async function readPostgresOntology(session: SqlSession, projectId: number): Promise<Ontology> {
  const rows = await session.rows<AttributeRow & { mode: OntologyMode; revision: number }>(
    `select c.ontology_mode as mode, c.ontology_revision as revision,
       a.id, a.name, a.type, a.unit_name as "unitName", a.decimal, a.synonyms
     from catalog c left join attribute a on a.project_id = c.project_id
     where c.project_id = $1 order by a.id`,
    [projectId],
  );
  const [first] = rows;
  return {
    mode: first?.mode ?? EMPTY.ontologyMode,
    revision: first?.revision ?? EMPTY.ontologyRevision,
    attributes: rows.filter(({ id }) => id !== null).map(toAttribute),
  };
}
