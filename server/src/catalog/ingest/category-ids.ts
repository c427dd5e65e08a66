import type { CatalogSnapshot } from '../snapshot.ts';

/** The category paths of which a parsing thread knows that they have an id; it is for ever. */
export class CategoryIds {
  private readonly known = new Map<number, Set<string>>();
  private readonly revisions = new Map<number, number>();

  /** A catalog that was brought back from a backup has other ids, and another revision of its ontology. */
  follow(projectId: number, ontologyRevision: number): void {
    if (this.revisions.get(projectId) !== ontologyRevision) this.known.delete(projectId);
    keepLatest(this.revisions, projectId, ontologyRevision);
  }

  /** @returns those of these category paths that have no id yet */
  async learn(projectId: number, snapshot: CatalogSnapshot, all: readonly string[]): Promise<string[]> {
    const known = this.known.get(projectId) ?? new Set<string>();
    keepLatest(this.known, projectId, known);
    const paths = all.filter((path) => !known.has(path));
    if (paths.length === 0) return [];
    for (const path of (await snapshot.findCategories(paths)).keys()) known.add(path);
    return paths.filter((path) => !known.has(path));
  }
}

/** Projects of which a thread keeps something: with 10,000 projects, only those at work now. */
const KEPT_PROJECTS = 64;

export function keepLatest<Value>(kept: Map<number, Value>, projectId: number, value: Value): void {
  kept.delete(projectId);
  kept.set(projectId, value);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_PROJECTS && oldest !== undefined) kept.delete(oldest);
}
