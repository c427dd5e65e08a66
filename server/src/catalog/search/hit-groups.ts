import type { HitGroup } from '../port.ts';
import { computeValueId } from '../products/products.ts';

/** @returns the number that stands for a group in the index; 53 bits, so that no two groups of a catalog share it */
export const keyOfGroup = (group: string): number => computeValueId(4, group);

/** Of a group that are shown; a search reads the uploads of all of them. */
const SHOWN = 100;

/** Hits by their groups, both in the order in which they come. */
export class HitGroups {
  private readonly documents = new Map<number, number[]>();
  hits = 0;

  get count(): number {
    return this.documents.size;
  }

  add({ document, group }: HitGroup): void {
    this.hits += 1;
    const known = this.documents.get(group);
    if (known === undefined) this.documents.set(group, [document]);
    else if (known.length < SHOWN) known.push(document);
  }

  /** @returns the documents of each group of a page */
  list(offset: number, limit: number): readonly (readonly number[])[] {
    return this.documents.values().drop(offset).take(limit).toArray();
  }
}
