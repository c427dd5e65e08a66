import { hash } from 'node:crypto';
import { AnswerWriter, type Ontology } from '../ontology/ontology.ts';

/** Hexadecimal, so that the number is exact. */
const EDITION_DIGITS = 13;

/** Writes the answers of one version of a catalog. */
export interface VersionWriter {
  readonly version: number;
  /** A number for the ontology, 52 bits: answers with one edition are from one ontology, even if another writer made them. */
  readonly edition: number;
  readonly writer: AnswerWriter;
}

/** The writer of a catalog's answers: it stays, with the categories that it has seen, as long as the ontology does. */
export class CachedWriter {
  private readonly categoryIdOf: (path: string) => number | undefined;
  private signature: string | undefined;
  private followed: VersionWriter | undefined;

  constructor(categoryIdOf: CachedWriter['categoryIdOf']) {
    this.categoryIdOf = categoryIdOf;
  }

  /** The writer for the last version that was followed. */
  get last(): VersionWriter | undefined {
    return this.followed;
  }

  find(version: number): VersionWriter | undefined {
    return this.followed?.version === version ? this.followed : undefined;
  }

  /** @returns the writer for a version of the catalog, given its ontology */
  follow(version: number, ontology: Ontology): VersionWriter {
    const signature = JSON.stringify(ontology);
    const known = signature === this.signature ? this.followed : undefined;
    const { edition, writer } = known ?? {
      edition: Number.parseInt(hash('sha256', signature).slice(0, EDITION_DIGITS), 16),
      writer: new AnswerWriter(ontology.attributes, this.categoryIdOf),
    };
    this.signature = signature;
    this.followed = { version, edition, writer };
    return this.followed;
  }
}

/** Ids of category paths as they become known, for a store that answers later. They are permanent. */
export function createPathIds() {
  const ids = new Map<string, number>();
  const missing = new Set<string>();
  return {
    idOf(path: string): number | undefined {
      const id = ids.get(path);
      if (id === undefined) missing.add(path);
      return id;
    },
    /** @returns the result of `make` once all ids that it needs are known */
    async complete<Made>(
      make: () => Made,
      find: (paths: readonly string[]) => Promise<ReadonlyMap<string, number>>,
    ): Promise<Made> {
      missing.clear();
      const made = make();
      if (missing.size === 0) return made;
      for (const [path, id] of await find([...missing])) ids.set(path, id);
      return make();
    },
  };
}
