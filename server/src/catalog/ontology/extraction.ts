import { type AttributeValue, computeValueId, type UploadedProduct } from '../products/products.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  isBlank,
  isFact,
  type NotExtracted,
  whyNoFact,
} from './attribute.ts';
import type { Observed } from './drafts/drafts.ts';
import { isSameUnit } from './units/units.ts';

/** A value that made no fact, with the reason. */
export interface Unextracted {
  readonly attribute: Attribute;
  readonly value: string;
  readonly why: NotExtracted;
}

/** Is called for values that make no fact. */
export interface ExtractionListener {
  onUnextracted(identifier: string, unextracted: Unextracted): void;
  /** Is called for an empty value under any key. */
  onEmpty(key: string): void;
  /** Is called for a key that the ontology does not know. */
  onUnknown(key: string): void;
}

/** An attribute with its judged values, because most values of a catalog repeat. */
interface JudgedAttribute {
  readonly attribute: Attribute;
  readonly isText: boolean;
  readonly judged: Map<string, NotExtracted | null>;
}

/** Reports a value of one key if it makes no fact. */
export type Judge = (identifier: string, value: string) => void;

/** A key of uploads, and the forms of its values. */
interface ObservedKey {
  readonly name: string;
  readonly observed: Observed | undefined;
  readonly hasBlank: boolean;
}

const CACHED_VALUES = 20_000;
const CACHED_LENGTH = 64;

/** Finds the raw values that make no fact under an ontology. Source: docs/interface §11.3. */
export type Extractor = ReturnType<typeof createExtractor>;

/** Creates an extractor. It is reused for later extractions, because it caches the values that it has judged. */
export function createExtractor(attributes: readonly Attribute[]) {
  const byKey = new Map<string, JudgedAttribute>();
  for (const [key, attribute] of indexByKey(attributes)) {
    const isText = attribute.type === 'TEXT_ATTRIBUTE' || attribute.type === 'UNTYPED_ATTRIBUTE';
    byKey.set(key, { attribute, isText, judged: new Map() });
  }

  function judgeOfValues({ name, observed }: ObservedKey, listener: ExtractionListener): Judge | undefined {
    const judgedAttribute = byKey.get(name);
    if (judgedAttribute === undefined) return () => listener.onUnknown(name);
    if (judgedAttribute.isText || (observed && allFit(judgedAttribute.attribute, observed))) return undefined;
    return (identifier, value) => judge(judgedAttribute, { identifier, value }, listener);
  }

  return {
    inspect: (product: UploadedProduct, listener: ExtractionListener) => inspect(byKey, product, listener),
    /**
     * @returns a function that judges the values of a key; undefined if all values of the observed forms make facts
     */
    judgeOf(key: ObservedKey, listener: ExtractionListener): Judge | undefined {
      const judge = judgeOfValues(key, listener);
      if (!key.hasBlank) return judge;
      return (identifier, value) =>
        isBlank(value) ? listener.onEmpty(key.name) : judge?.(identifier, value);
    },
  };
}

function inspect(
  byKey: ReadonlyMap<string, JudgedAttribute>,
  { identifier, attributes }: UploadedProduct,
  listener: ExtractionListener,
): void {
  for (const { key, value } of attributes) {
    const judgedAttribute = byKey.get(key);
    if (isBlank(value)) listener.onEmpty(key);
    else if (judgedAttribute === undefined) listener.onUnknown(key);
    else if (!judgedAttribute.isText) judge(judgedAttribute, { identifier, value }, listener);
  }
}

function judge(
  { attribute, judged }: JudgedAttribute,
  { identifier, value }: { readonly identifier: string; readonly value: string },
  listener: ExtractionListener,
): void {
  let why = judged.get(value);
  if (why === undefined) {
    why = whyNoFact(value, attribute) ?? null;
    if (judged.size >= CACHED_VALUES) judged.clear();
    if (value.length <= CACHED_LENGTH) judged.set(value, why);
  }
  if (why !== null) listener.onUnextracted(identifier, { attribute, value, why });
}

/** @returns whether all values of the observed forms certainly make facts; false proves nothing */
function allFit({ type, unitName = '', decimal, unitAliases }: Attribute, observed: Observed): boolean {
  if (type === 'BOOLEAN_ATTRIBUTE') return observed.isBoolean;
  const { units, misfits } = observed;
  return (
    type === 'NUMERIC_ATTRIBUTE' &&
    misfits[decimal ?? 'plain'] === undefined &&
    units.every(([unit]) => isSameUnit(unit, unitName, unitAliases))
  );
}

/** @returns the part of a value that is shown to people */
export const shorten = (value: string) => (value.length > 200 ? `${value.slice(0, 200)}…` : value);

/** @returns why values such as this one are no longer facts */
export const explainDropped = ({ attribute, value, why }: Unextracted): string =>
  `of values such as ${JSON.stringify(shorten(value))}: ${describeNotExtracted(why, attribute)}`;

/** @returns a line for the report of the task */
export function describeUnextracted(identifier: string, { attribute, value, why }: Unextracted) {
  return {
    identifier,
    code: why,
    attribute: attribute.name,
    value: shorten(value),
    message: describeNotExtracted(why, attribute),
  };
}

/** An attribute and a value that the ontology reads from a product. Source: docs/interface §11.4. */
export interface Fact {
  readonly attribute: Attribute;
  readonly value: string;
  readonly userGroups?: readonly string[] | undefined;
  readonly row?: string | number | undefined;
}

/**
 * @param areRowsApart whether equal strings in several rows are several facts, each with its row
 * @returns the facts of raw attributes; equal strings of one attribute are one fact with the groups of all
 */
export function listFacts(
  values: readonly AttributeValue[],
  byKey: ReadonlyMap<string, Attribute>,
  areRowsApart = false,
): readonly Fact[] {
  const facts = new Map<string, Fact>();
  for (const { key, value, userGroups, ...uploaded } of values) {
    const row = areRowsApart ? uploaded.row : undefined;
    const attribute = byKey.get(key);
    if (attribute === undefined || !isFact(value, attribute)) continue;
    const id =
      row === undefined ? `${attribute.id} ${value}` : JSON.stringify([attribute.id, value, `${row}`]);
    const first = facts.get(id);
    const groups = first === undefined ? userGroups : joinGroups(first.userGroups, userGroups);
    facts.set(id, { attribute, value, userGroups: groups, row });
  }
  return [...facts.values()];
}

/** A value without groups is for every product, even if other values have groups. */
const joinGroups = (a: Fact['userGroups'], b: Fact['userGroups']): Fact['userGroups'] =>
  a === undefined || b === undefined ? undefined : [...new Set([...a, ...b])];

/** @returns facts in the form of answers: JSON, separated by commas */
export const describeFacts = (facts: readonly Fact[]): string =>
  facts
    .map(({ attribute: { id, name, type }, value, userGroups, row }) =>
      JSON.stringify({
        attributeId: id,
        attribute: name,
        valueId: computeValueId(id, value),
        value,
        type,
        ...(userGroups && { userGroups }),
        ...(row !== undefined && { row }),
      }),
    )
    .join(',');

/** @param idOf returns the id of a path, as JSON, if none was uploaded @returns categories in the form of answers */
export const describeCategories = (
  categories: UploadedProduct['categories'],
  idOf: (path: string) => number,
): string =>
  categories
    .map(({ path, categoryId }) => {
      const text = JSON.stringify(path);
      return `{"path":${text},"categoryId":${categoryId ?? idOf(text)}}`;
    })
    .join(',');
