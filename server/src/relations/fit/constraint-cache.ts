import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import {
  isConstraint,
  markOfRelation,
  type Relation,
  ruleOf,
  type ValueTable,
} from '../relation-definitions/relation-definitions.ts';
import { bindRule, listTables } from '../rules/rules.ts';
import type { TriedCatalog } from '../surveys/surveys.ts';
import type { Constraint } from './judgement.ts';
import type { SearchedVersions } from './negative-values.ts';

/** One state of a catalog. */
export interface FitCatalog extends TriedCatalog, SearchedVersions {
  listAttributes(): Promise<readonly Attribute[]>;
  listRelations(): Promise<readonly Relation[]>;
  /** @returns the tables that exist */
  findTables(names: readonly string[]): Promise<readonly ValueTable[]>;
}

interface CatalogConstraints {
  readonly version: number;
  readonly attributes: readonly Attribute[];
  readonly constraints: readonly Constraint[];
}

/** For how many projects a thread caches constraints. */
const CACHED_PROJECTS = 64;

/**
 * Constraints that are ready for judging. They are cached because binding them takes longer than judging ten
 * products.
 */
export class ConstraintCache {
  private readonly cached = new BoundedMap<number, CatalogConstraints>({ most: CACHED_PROJECTS });

  async read(projectId: number, catalog: FitCatalog): Promise<CatalogConstraints> {
    const { version } = catalog;
    const present = this.cached.get(projectId);
    if (present?.version === version) return present;
    const attributes = await catalog.listAttributes();
    const relations = await catalog.listRelations();
    const named = relations.flatMap(({ definition }) => listTables(ruleOf(definition)));
    const tables = await catalog.findTables([...new Set(named)]);
    const constraints = relations.flatMap((relation) => toConstraint(relation, attributes, tables) ?? []);
    const read = { version, attributes, constraints };
    this.cached.set(projectId, read);
    return read;
  }
}

/**
 * Binds to the present ontology, because no index has to be built.
 * @returns undefined for a relation that is not a constraint
 */
function toConstraint(relation: Relation, attributes: readonly Attribute[], tables: readonly ValueTable[]) {
  const { id, definition } = relation;
  if (!definition.enabled || !isConstraint(definition)) return undefined;
  const result = bindRule(ruleOf(definition), attributes, tables);
  if ('problem' in result) return undefined;
  const { name, tag, excludeSameGroup, total, operator, limit } = definition;
  return {
    relation: { id, name, tag },
    revision: markOfRelation(relation),
    excludeSameGroup,
    bound: result.bound,
    ...(definition.kind === 'total' && { total: { total, operator, limit } }),
  };
}
