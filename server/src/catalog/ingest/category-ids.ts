import type { SentPatch, SentProduct } from '../products/products.ts';
import type { CatalogSnapshot } from '../snapshot.ts';

type Categorised = Pick<SentProduct | SentPatch, 'categories'>;

/** The category paths of which a parsing thread knows that they have an id; it is for ever. */
export class CategoryIds {
  private readonly known = new Map<number, Set<string>>();
  private readonly revisions = new Map<number, number>();

  /** A catalog that was brought back from a backup has other ids, and another revision of its ontology. */
  follow(projectId: number, ontologyRevision: number): void {
    if (this.revisions.get(projectId) !== ontologyRevision) this.known.delete(projectId);
    keepLatest(this.revisions, projectId, ontologyRevision);
  }

  /** @returns the category paths of these products that have no id yet */
  async learn(
    projectId: number,
    snapshot: CatalogSnapshot,
    products: readonly Categorised[],
  ): Promise<string[]> {
    const known = this.known.get(projectId) ?? new Set<string>();
    keepLatest(this.known, projectId, known);
    const paths = listPaths(products).filter((path) => !known.has(path));
    if (paths.length === 0) return [];
    for (const path of (await snapshot.findCategories(paths)).keys()) known.add(path);
    return paths.filter((path) => !known.has(path));
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
