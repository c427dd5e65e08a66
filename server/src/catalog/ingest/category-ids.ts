import type { CatalogSnapshot } from '../snapshot.ts';

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

  /** Learns the ids of these category paths, before answers are written. @returns those without */
  async learn(projectId: number, snapshot: CatalogSnapshot, all: readonly string[]): Promise<string[]> {
    const ids = this.ids.get(projectId) ?? new Map<string, number>();
    keepLatest(this.ids, projectId, ids);
    const paths = all.filter((path) => !ids.has(path));
    if (paths.length === 0) return [];
    for (const [path, id] of await snapshot.findCategories(paths)) ids.set(path, id);
    return paths.filter((path) => !ids.has(path));
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
