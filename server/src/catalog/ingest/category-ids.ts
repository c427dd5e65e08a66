import type { SentPatch, SentProduct } from '../products/products.ts';
import type { CatalogSnapshot } from '../snapshot.ts';

type Categorised = Pick<SentProduct | SentPatch, 'categories'>;

/** What a parsing thread knows of the ids of category paths; they are for ever. */
export class CategoryIds {
  private readonly ids = new Map<number, Map<string, number>>();
  private readonly revisions = new Map<number, number>();

  /** A catalog that was brought back from a backup has other ids, and another revision of its ontology. */
  follow(projectId: number, ontologyRevision: number): void {
    if (this.revisions.get(projectId) !== ontologyRevision) this.ids.delete(projectId);
    keepLatest(this.revisions, projectId, ontologyRevision);
  }

  find(projectId: number, path: string): number | undefined {
    return this.ids.get(projectId)?.get(path);
  }

  /** Learns the ids of all category paths of these products, before their answers are written. @returns those without */
  async learn(
    projectId: number,
    snapshot: CatalogSnapshot,
    products: readonly Categorised[],
  ): Promise<string[]> {
    const ids = this.ids.get(projectId) ?? new Map<string, number>();
    keepLatest(this.ids, projectId, ids);
    const paths = listPaths(products).filter((path) => !ids.has(path));
    if (paths.length === 0) return [];
    for (const [path, id] of await snapshot.findCategories(paths)) ids.set(path, id);
    return paths.filter((path) => !ids.has(path));
  }
}

/** @returns the paths that came without an id, as JSON, each once */
function listPaths(products: readonly Categorised[]): string[] {
  const paths = new Set<string>();
  for (const { categories } of products) {
    for (const { path, categoryId } of categories ?? [])
      if (typeof categoryId !== 'number') paths.add(JSON.stringify(path));
  }
  return [...paths];
}

/** Projects of which a thread keeps something: with 10,000 projects, only those at work now. */
const KEPT_PROJECTS = 64;

export function keepLatest<Value>(kept: Map<number, Value>, projectId: number, value: Value): void {
  kept.delete(projectId);
  kept.set(projectId, value);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_PROJECTS && oldest !== undefined) kept.delete(oldest);
}
