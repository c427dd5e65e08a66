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
