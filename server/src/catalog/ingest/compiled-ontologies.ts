import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Attribute } from '../ontology/ontology.ts';
import { createExtractor, type Extractor, indexByKey, type Ontology } from '../ontology/ontology.ts';

/** A project's ontology prepared for extraction, with the values that its extractor has judged. */
export interface CompiledOntology {
  readonly revision: number;
  readonly signature: string;
  readonly extractor: Extractor;
  /** By the key in an upload. */
  readonly attributeByKey: ReadonlyMap<string, Attribute>;
  /** Category paths that have an id. Ids are permanent. */
  readonly paths: Set<string>;
}

/** How many ontologies a thread caches, because only a few of 10,000 projects are in use at a time. */
const COMPILED_PROJECTS = 64;

/** The ontologies that a parsing thread has compiled. */
export class CompiledOntologies {
  private readonly compiled = new BoundedMap<number, CompiledOntology>({ most: COMPILED_PROJECTS });

  /** @returns the same extractor for the same ontology, with its cached facts */
  compile(projectId: number, present: Ontology, drafts: readonly Attribute[]): CompiledOntology {
    const { revision } = present;
    const attributes = [...present.attributes, ...drafts];
    const signature = JSON.stringify(attributes);
    const cached = this.compiled.peek(projectId);
    // A catalog that was restored from a backup has other ids of paths, and another revision of its ontology.
    const before = cached?.revision === revision ? cached : undefined;
    const ontology =
      before?.signature === signature
        ? before
        : {
            revision,
            signature,
            paths: before?.paths ?? new Set<string>(),
            extractor: createExtractor(attributes),
            attributeByKey: indexByKey(attributes),
          };
    this.compiled.set(projectId, ontology);
    return ontology;
  }
}
