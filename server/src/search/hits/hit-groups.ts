import type { HitGroup } from '../search-port.ts';

/** How many products of a group are shown. A search reads the uploads of all of them. */
const SHOWN_OF_GROUP = 100;

/** Hits by group. Groups and hits have the order in which they were found. */
export class HitGroups {
  private readonly documents = new Map<number, number[]>();
  hits = 0;

  get count(): number {
    return this.documents.size;
  }

  add({ document, group }: HitGroup): void {
    this.hits += 1;
    const documents = this.documents.get(group);
    if (documents === undefined) this.documents.set(group, [document]);
    else if (documents.length < SHOWN_OF_GROUP) documents.push(document);
  }

  addAll(documents: readonly number[], groupOf: ReadonlyMap<number, number>): void {
    for (const document of documents) this.add({ document, group: groupOf.get(document) ?? 0 });
  }

  list(offset: number, limit: number): readonly (readonly number[])[] {
    return this.documents.values().drop(offset).take(limit).toArray();
  }
}
