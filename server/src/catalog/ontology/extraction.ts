import type { AttributeValue, UploadedProduct } from '../products/products.ts';
import { computeValueId } from '../products/products.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  type NotExtracted,
  readValue,
} from './attribute.ts';

/** A value that made no fact, and why. */
export interface Unextracted {
  readonly attribute: Attribute;
  readonly value: string;
  readonly why: NotExtracted;
}

/** Called for values that make no fact. */
export interface ExtractionListener {
  onUnextracted(identifier: string, unextracted: Unextracted): void;
  /** A key that the ontology does not know. */
  onUnknown(key: string): void;
}

type Groups = readonly string[] | undefined;

/** A fact as bytes, as text when it is too long to be kept, or why there is none. */
type Fact =
  | { readonly bytes: Buffer }
  | { readonly text: string }
  | { readonly why: NotExtracted; readonly value: string };

/** An attribute with all that does not change from value to value. */
interface CompiledAttribute {
  readonly attribute: Attribute;
  readonly head: string;
  readonly tail: string;
  readonly isText: boolean;
  /** Facts of short values met before, as bytes: most values of a catalog repeat. */
  readonly facts: Map<string, Fact>;
}

const CACHED_FACTS = 20_000;
const CACHED_LENGTH = 64;
const COMMA = 0x2c;
const BRACKET = 0x5d;

/** Most bytes that one character of JSON text takes: \uXXXX, or three of UTF-8. */
const BYTES_PER_CHARACTER = 6;

/**
 * Turns raw attributes into facts by an ontology. `categoryIdOf` gives the id of a path, as JSON, for which none was uploaded.
 * Source: docs/interface.md §2.2 (the answer), §11.3 and §11.4 (facts).
 */
export class Extractor {
  private readonly compiled = new Map<string, CompiledAttribute>();
  private readonly categoryIdOf: (path: string) => number;
  private listener: ExtractionListener = { onUnextracted: () => {}, onUnknown: () => {} };

  constructor(attributes: readonly Attribute[], categoryIdOf: (path: string) => number) {
    for (const [key, attribute] of indexByKey(attributes))
      this.compiled.set(key, compileAttribute(attribute));
    this.categoryIdOf = categoryIdOf;
  }

  /** An extractor outlives an extraction, for the facts that it has cached. */
  tell(listener: ExtractionListener): void {
    this.listener = listener;
  }

  /** Tells of values that make no fact, without writing an answer. */
  inspect(product: UploadedProduct): void {
    for (const { key, value } of product.attributes) {
      const known = this.find(key);
      if (known !== undefined && !known.isText) this.tellIfNone(product, known, findFact(known, value));
    }
  }

  /**
   * Writes a product's answer without its id and time to `target`, which has room for `answerBound`.
   * @returns where the answer ends
   */
  writeAnswer(product: UploadedProduct, target: Buffer, start: number): number {
    const head = describeHead(product, this.categoryIdOf);
    const facts = start + target.write(head, start);
    const end = this.hasRepeatedAttribute(product.attributes)
      ? facts + target.write(this.joinFacts(product), facts)
      : this.writeFacts(product, target, facts);
    target[end] = BRACKET;
    return end + 1;
  }

  /** By the same key, or by a name and its synonyms. */
  private hasRepeatedAttribute(values: readonly AttributeValue[]): boolean {
    if (values.length < 2) return false;
    const attributes = new Set<string | Attribute>();
    for (const { key } of values) attributes.add(this.compiled.get(key)?.attribute ?? key);
    return attributes.size < values.length;
  }

  private find(key: string): CompiledAttribute | undefined {
    const known = this.compiled.get(key);
    if (known === undefined) this.listener.onUnknown(key);
    return known;
  }

  /** The common case, on the hot path: every key once, so no two values can be one fact. */
  private writeFacts(product: UploadedProduct, target: Buffer, start: number): number {
    let at = start;
    for (const value of product.attributes) {
      const known = this.find(value.key);
      const fact = known && findFact(known, value.value);
      if (known === undefined || fact === undefined || this.tellIfNone(product, known, fact)) continue;
      at = value.userGroups
        ? at + target.write(describeFact(known, value.value, value.userGroups), at)
        : writeFact(fact, target, at);
      target[at] = COMMA;
      at += 1;
    }
    return at > start ? at - 1 : at;
  }

  /** Equal strings of one attribute are one fact, for the user groups of all of them. */
  private joinFacts(product: UploadedProduct): string {
    const facts = new Map<string, { known: CompiledAttribute; value: string; groups: Groups }>();
    for (const { key, value, userGroups } of product.attributes) {
      const known = this.find(key);
      if (known === undefined || this.tellIfNone(product, known, findFact(known, value))) continue;
      const id = `${known.attribute.id} ${value}`;
      const first = facts.get(id);
      facts.set(id, { known, value, groups: first ? joinGroups(first.groups, userGroups) : userGroups });
    }
    return [...facts.values()]
      .map(({ known, value, groups }) => describeFact(known, value, groups))
      .join(',');
  }

  /** @returns whether the value makes no fact */
  private tellIfNone({ identifier }: UploadedProduct, { attribute }: CompiledAttribute, fact: Fact): boolean {
    if (!('why' in fact)) return false;
    this.listener.onUnextracted(identifier, { attribute, value: fact.value, why: fact.why });
    return true;
  }
}

/** A value without groups is for everybody, whoever else has it. */
function joinGroups(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  return a === undefined || b === undefined ? undefined : [...new Set([...a, ...b])];
}

function compileAttribute(attribute: Attribute): CompiledAttribute {
  return {
    attribute,
    head: `{"attributeId":${attribute.id},"attribute":${JSON.stringify(attribute.name)},"valueId":`,
    tail: `,"type":"${attribute.type}"`,
    isText: attribute.type === 'TEXT_ATTRIBUTE' || attribute.type === 'UNTYPED_ATTRIBUTE',
    facts: new Map(),
  };
}

/** @returns the fact of a value, or why there is none. */
function findFact(known: CompiledAttribute, value: string): Fact {
  const cached = known.facts.get(value);
  if (cached !== undefined) return cached;
  const why = known.isText ? undefined : judge(known.attribute, value);
  if (why !== undefined) return keepFact(known, value, { why, value });
  const text = describeFact(known, value, undefined);
  return value.length > CACHED_LENGTH ? { text } : keepFact(known, value, { bytes: Buffer.from(text) });
}

function keepFact(known: CompiledAttribute, value: string, fact: Fact): Fact {
  if (value.length > CACHED_LENGTH) return fact;
  if (known.facts.size >= CACHED_FACTS) known.facts.clear();
  known.facts.set(value, fact);
  return fact;
}

function writeFact(fact: Fact, target: Buffer, at: number): number {
  if ('text' in fact) return at + target.write(fact.text, at);
  if (!('bytes' in fact)) return at;
  target.set(fact.bytes, at);
  return at + fact.bytes.length;
}

function judge(attribute: Attribute, value: string): NotExtracted | undefined {
  const read = readValue(value, attribute);
  return read.kind === 'none' ? read.why : undefined;
}

function describeFact(
  known: CompiledAttribute,
  value: string,
  groups: readonly string[] | undefined,
): string {
  const id = computeValueId(known.attribute.id, value);
  const suffix = groups === undefined ? '}' : `,"userGroups":${JSON.stringify(groups)}}`;
  return `${known.head}${id},"value":${JSON.stringify(value)}${known.tail}${suffix}`;
}

function describeHead(product: UploadedProduct, categoryIdOf: (path: string) => number): string {
  const categories = product.categories.map(({ path, categoryId }) => {
    const text = JSON.stringify(path);
    return `{"path":${text},"categoryId":${categoryId ?? categoryIdOf(text)}}`;
  });
  return (
    `"identifier":${JSON.stringify(product.identifier)},"groupId":${JSON.stringify(product.groupIdentifier)},` +
    `"name":${JSON.stringify(product.name)},"link":${JSON.stringify(product.productUrl)},` +
    `"images":${JSON.stringify(product.images)},"categories":[${categories.join(',')}],"facts":[`
  );
}

/** @returns at least as many bytes as the answer of a product takes whose stored upload has `rawLength` bytes. */
export function answerBound(product: UploadedProduct, rawLength: number, longestName: number): number {
  const perFact = 120 + BYTES_PER_CHARACTER * longestName;
  return 512 + rawLength * 3 + product.attributes.length * perFact + product.categories.length * 64;
}

/** @returns a line for the report of the task. */
export function describeUnextracted(identifier: string, { attribute, value, why }: Unextracted) {
  return {
    identifier,
    code: why,
    attribute: attribute.name,
    value: value.length > 200 ? `${value.slice(0, 200)}…` : value,
    message: describeNotExtracted(why, attribute),
  };
}
