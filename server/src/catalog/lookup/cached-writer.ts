import { AnswerWriter, type Ontology } from '../ontology/ontology.ts';

let lastEdition = 0;

/** The writer of a catalog's answers: it stays, with the categories that it has met, as long as the ontology does. */
export class CachedWriter {
  /** A number of its own for each writer: answers of one edition are of one ontology. */
  edition = 0;
  private readonly categoryIdOf: (path: string) => number | undefined;
  private signature: string | undefined;
  private current: { readonly version: number; readonly writer: AnswerWriter } | undefined;

  constructor(categoryIdOf: CachedWriter['categoryIdOf']) {
    this.categoryIdOf = categoryIdOf;
  }

  /** Of the catalog, when it was followed last. */
  get version(): number | undefined {
    return this.current?.version;
  }

  find(version: number): AnswerWriter | undefined {
    return this.current?.version === version ? this.current.writer : undefined;
  }

  /** @returns the writer for a version of the catalog, whose ontology this is */
  follow(version: number, ontology: Ontology): AnswerWriter {
    const signature = JSON.stringify(ontology);
    const cached = signature === this.signature ? this.current?.writer : undefined;
    const writer = cached ?? new AnswerWriter(ontology.attributes, this.categoryIdOf);
    if (cached === undefined) this.edition = ++lastEdition;
    this.signature = signature;
    this.current = { version, writer };
    return writer;
  }
}

/** Ids of category paths as they become known: for a store that answers later. They are for ever. */
export function createPathIds() {
  const ids = new Map<string, number>();
  const missing = new Set<string>();
  return {
    idOf(path: string): number | undefined {
      const id = ids.get(path);
      if (id === undefined) missing.add(path);
      return id;
    },
    /** @returns what `make` makes once all ids that it needs are known */
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
