import { hash } from 'node:crypto';
import { AnswerWriter, indexByKey, type Ontology } from '../ontology/ontology.ts';

/** The digits of an edition, in hexadecimal, so that the number is exact. */
const EDITION_DIGITS = 13;

/** Writes the answers of one version of a catalog. */
export interface VersionWriter {
  readonly version: number;
  /**
   * A number of 52 bits that identifies the ontology: answers with the same edition are from the same ontology, even
   * if another writer made them.
   */
  readonly edition: number;
  readonly writer: AnswerWriter;
  /** The earlier edition to which only attributes were added, and the keys of these attributes. */
  readonly grown?: { readonly from: number; readonly keys: readonly string[] } | undefined;
  /**
   * The keys without an attribute in the uploads that this writer read, and that earlier writers read whose
   * ontologies lacked only attributes.
   */
  readonly unknownKeys: WeakRef<Set<string>>;
}

export const catalogOf = (projectId: number, { version, edition, grown, unknownKeys }: VersionWriter) => ({
  projectId,
  version,
  edition,
  grown,
  unknownKeys,
});

/**
 * The writer of a catalog's answers. It is reused, with the categories that it has read, until the ontology changes.
 */
export class CachedWriter {
  private readonly categoryIdOf: (path: string) => number | undefined;
  private signature: string | undefined;
  private attributes = 0;
  private followed: VersionWriter | undefined;

  constructor(categoryIdOf: CachedWriter['categoryIdOf']) {
    this.categoryIdOf = categoryIdOf;
  }

  /** The writer of the last version that was followed. */
  get last(): VersionWriter | undefined {
    return this.followed;
  }

  find(version: number): VersionWriter | undefined {
    return this.followed?.version === version ? this.followed : undefined;
  }

  /** @returns the writer for a version of the catalog, given its ontology */
  follow(version: number, ontology: Ontology): VersionWriter {
    const signature = JSON.stringify(ontology);
    const unchanged = signature === this.signature ? this.followed : undefined;
    this.followed = { ...(unchanged ?? this.open(signature, ontology)), version };
    this.signature = signature;
    this.attributes = ontology.attributes.length;
    return this.followed;
  }

  private open(signature: string, { attributes }: Ontology): Omit<VersionWriter, 'version'> {
    const grown = this.findGrowth(signature, attributes);
    const before = grown && this.followed;
    const writer = new AnswerWriter(attributes, this.categoryIdOf, before?.writer.unknownKeys);
    return {
      edition: Number.parseInt(hash('sha256', signature).slice(0, EDITION_DIGITS), 16),
      writer,
      grown,
      unknownKeys: before?.unknownKeys ?? new WeakRef(writer.unknownKeys),
    };
  }

  private findGrowth(signature: string, attributes: Ontology['attributes']): VersionWriter['grown'] {
    const { followed } = this;
    // Attributes come last in an ontology, and new attributes come last among them.
    const isLonger = signature.startsWith(`${this.signature?.slice(0, -']}'.length)},`);
    if (followed === undefined || !isLonger) return undefined;
    const keys = [...indexByKey(attributes.slice(this.attributes)).keys()];
    if (keys.some((key) => followed.writer.byKey.has(key))) return undefined;
    return { from: followed.edition, keys };
  }
}

/** Collects the ids of category paths, for a store that returns them later. Ids are permanent. */
export function createPathIds() {
  const ids = new Map<string, number>();
  const missing = new Set<string>();
  return {
    idOf(path: string): number | undefined {
      const id = ids.get(path);
      if (id === undefined) missing.add(path);
      return id;
    },
    /** @returns the result of `make`, once all ids that it needs are read */
    async complete<Made>(
      make: () => Made,
      find: (paths: readonly string[]) => Promise<ReadonlyMap<string, number>>,
    ): Promise<Made> {
      missing.clear();
      const result = make();
      if (missing.size === 0) return result;
      for (const [path, id] of await find([...missing])) ids.set(path, id);
      return make();
    },
  };
}
