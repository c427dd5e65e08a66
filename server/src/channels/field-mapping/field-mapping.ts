/**
 * The door of field mapping: from a product of the catalog to the fields of a format, with the problems that were
 * found. Pure.
 */
import { type Attribute, indexByKey, isBlank } from '../../catalog/ontology/ontology.ts';
import { StoredUpload, StoredValues } from '../../catalog/products/documents/documents.ts';
import { mainCategory, mainImage, type UploadedProduct } from '../../catalog/products/products.ts';
import {
  type FeedRow,
  type Field,
  freeField,
  type OutputFormat,
  type ReadField,
  readField,
  type SuggestedSource,
} from '../../formats/output/output.ts';
import type { ExpressionResult } from '../../pipelines/mapping/mapping.ts';

export interface FieldProblem {
  readonly field: string;
  /** `field_missing` and `value_invalid` exclude the product if the field is required. */
  readonly code: 'field_missing' | 'value_invalid' | 'value_shortened' | 'related_left_out' | 'part_left_out';
  readonly value?: string;
  readonly message: string;
}

/** Published products are for all customers. A product for some groups of customers is left out. */
export const isForEverybody = ({ settings }: UploadedProduct): boolean =>
  (settings?.includeUserGroups ?? []).length === 0;

const NONE: readonly string[] = [];
const NO_SLOTS: readonly (readonly string[])[] = [];

interface Read {
  readonly product: UploadedProduct;
  readonly slots: readonly (readonly string[])[];
  readonly results: readonly ExpressionResult[];
}

type Getter = (read: Read) => readonly string[] | { readonly problem: string };

/** The attributes that are read, each in its own slot, so that one pass over a product finds all values. */
class Slots {
  readonly #attributes: ReadonlyMap<string, Attribute>;
  /** The slot of each attribute, by its key in an upload. */
  readonly #places = new Map<string, number>();
  readonly #stored = new StoredValues((key) => this.#places.get(key));
  #count = 0;

  constructor(attributes: readonly Attribute[]) {
    this.#attributes = indexByKey(attributes);
  }

  has = (name: string): boolean => this.#attributes.has(name);

  assignSlot(name: string): number {
    const assigned = this.#places.get(name);
    if (assigned !== undefined) return assigned;
    const attribute = this.#attributes.get(name);
    const slot = this.#count;
    this.#count += 1;
    for (const key of attribute ? [attribute.name, ...(attribute.synonyms ?? [])] : [name])
      this.#places.set(key, slot);
    return slot;
  }

  /** Ignores values for some groups of customers, because not all readers of a feed may see them. */
  read(product: UploadedProduct): readonly (readonly string[])[] {
    if (this.#count === 0) return NO_SLOTS;
    const plain = product instanceof StoredUpload ? this.#stored.read(product) : undefined;
    if (plain !== undefined) return plain;
    const slots: string[][] = [];
    for (const { key, value, userGroups } of product.attributes) {
      const slot = this.#places.get(key);
      if (slot === undefined || userGroups !== undefined) continue;
      const values = slots[slot];
      if (values === undefined) slots[slot] = [value];
      else values.push(value);
    }
    return slots;
  }

  /** @returns for each field that an attribute fills, the rows of its values, unless a value was left out */
  readRows({ attributes }: UploadedProduct, mapping: ChannelMapping, values: FeedRow['values']) {
    const slots = Map.groupBy(
      attributes.filter(({ key, userGroups }) => userGroups === undefined && this.#places.has(key)),
      ({ key }) => this.#places.get(key),
    );
    return Object.values(mapping).map((source, index) => {
      const all = 'attribute' in source ? (slots.get(this.assignSlot(source.attribute)) ?? []) : [];
      return all.length === values[index]?.length ? all.map(({ row }) => row) : undefined;
    });
  }
}

/** @param attributes of the ontology; a name that the ontology no longer has has no value */
export function createRowMaker(
  format: OutputFormat,
  mapping: ChannelMapping,
  attributes: readonly Attribute[],
) {
  const slots = new Slots(attributes);
  const expressions: string[] = [];
  const fieldByName = new Map(format.fields?.map((field) => [field.name, field]));
  const columns = Object.keys(mapping).map(
    (name) => fieldByName.get(name) ?? format.fieldNamed?.(name) ?? freeField(name),
  );
  const readers = columns.map(openReader);
  const getters = Object.values(mapping).map((source) => openSource(source, slots, expressions));
  const absent = (format.fields ?? []).filter(({ name, isRequired }) => isRequired && !(name in mapping));
  const columnIndex = new Map(columns.map(({ name }, index) => [name, index]));

  const readRows = (product: UploadedProduct, values: FeedRow['values']) =>
    format.fieldNamed && slots.readRows(product, mapping, values);

  return {
    columns,
    /** The JSONata expressions, each once. `make` takes their results in this order. */
    expressions: expressions as readonly string[],
    make(product: UploadedProduct, results: readonly ExpressionResult[] = []) {
      const read = { product, slots: slots.read(product), results };
      const row = new RowCheck(format.type);
      const values = getters.map((get, index) => row.take(readers[index] as FieldReader, get(read)));
      for (const { name } of absent) row.miss(name, 'the mapping has no such field');
      const valuesOf = (field: string) => values[columnIndex.get(field) ?? -1] ?? NONE;
      for (const { field, requires, ...condition } of format.conditions ?? []) {
        const [value = ''] = valuesOf(field);
        const isMissing = condition.values.includes(value) && valuesOf(requires).length === 0;
        if (isMissing) row.miss(requires, `it is required if ${field} is ${value}`);
      }
      return { values, rows: readRows(product, values), problems: row.problems, isLeftOut: row.isLeftOut };
    },
  };
}

function openSource(source: FieldSource, slots: Slots, expressions: string[]): Getter {
  if ('attribute' in source) {
    const slot = slots.assignSlot(source.attribute);
    return (read) => read.slots[slot] ?? NONE;
  }
  if ('field' in source) {
    const get = OWN_FIELDS[source.field];
    return ({ product }) => get(product);
  }
  if ('constant' in source) {
    const values = source.constant === '' ? NONE : [source.constant];
    return () => values;
  }
  if ('template' in source) return openTemplate(source.template, slots);
  const knownIndex = expressions.indexOf(source.expression);
  const index = knownIndex < 0 ? expressions.push(source.expression) - 1 : knownIndex;
  return ({ results }) => readResult(results[index]);
}

function readResult(result: ExpressionResult | undefined): ReturnType<Getter> {
  if (result === undefined || result === null) return NONE;
  if (typeof result === 'boolean') return [String(result)];
  if (typeof result === 'string') return result === '' ? NONE : [result];
  return 'problem' in result ? { problem: result.problem } : result;
}

/** A template has no value if one of its names has none, because a price without an amount is not a price. */
function openTemplate(template: string, slots: Slots): Getter {
  const parts = (readTemplate(template) ?? []).map((part): string | Getter => {
    if ('text' in part) return part.text;
    const isOwn = !slots.has(part.name) && Object.hasOwn(OWN_FIELDS, part.name);
    return openSource(isOwn ? { field: part.name as OwnField } : { attribute: part.name }, slots, []);
  });
  return (read) => {
    let text = '';
    for (const part of parts) {
      const value = typeof part === 'string' ? part : (part(read) as readonly string[])[0];
      if (value === undefined || value === '') return NONE;
      text += value;
    }
    return [text];
  };
}

type FieldReader = ReturnType<typeof openReader>;

/** Constants, and values that consecutive products share, are checked once. */
function openReader(field: Field) {
  let last: string | undefined;
  let answer: ReadField;
  return {
    field,
    read(text: string): ReadField {
      if (text === last) return answer;
      answer = readField(text, field);
      last = text;
      return answer;
    },
  };
}

class RowCheck {
  readonly problems: FieldProblem[] = [];
  isLeftOut = false;
  readonly #format: string;

  constructor(format: string) {
    this.#format = format;
  }

  take(reader: FieldReader, values: ReturnType<Getter>): readonly string[] {
    const { field } = reader;
    if ('problem' in values) {
      this.#refuse(field, { message: `${field.name}: ${values.problem}` });
      return NONE;
    }
    const taken = values.length === 1 ? this.#takeOne(reader, values) : this.#takeSome(reader, values);
    if (taken.length === 0 && field.isRequired && !this.#isRefused(field.name))
      this.miss(field.name, 'its source has no value for this product');
    return taken;
  }

  /** Most fields have one value, and most values are written unchanged. */
  #takeOne(reader: FieldReader, values: readonly string[]): readonly string[] {
    const [text = ''] = values;
    if (isBlank(text)) return NONE;
    const value = this.#read(reader, text);
    if (value === undefined) return NONE;
    return value === text ? values : [value];
  }

  #takeSome(reader: FieldReader, values: readonly string[]): readonly string[] {
    const { most = 1 } = reader.field;
    const taken: string[] = [];
    for (const text of values) {
      if (taken.length === most) break;
      const value = isBlank(text) ? undefined : this.#read(reader, text);
      if (value !== undefined) taken.push(value);
    }
    return taken;
  }

  miss(field: string, why: string): void {
    this.isLeftOut = true;
    const message = `lacks ${field}, which ${this.#format} requires: ${why}`;
    this.problems.push({ field, code: 'field_missing', message });
  }

  /** @returns undefined for a value that cannot be written */
  #read({ field, read: check }: FieldReader, text: string): string | undefined {
    const { name } = field;
    const read = check(text);
    if ('problem' in read) {
      this.#refuse(field, { value: text.slice(0, SHOWN), message: `${name} ${read.problem}` });
      return undefined;
    }
    if (read.note !== undefined)
      this.problems.push({ field: name, code: 'value_shortened', message: `${name} ${read.note}` });
    return read.value;
  }

  #refuse({ name, isRequired }: Field, why: Pick<FieldProblem, 'value' | 'message'>): void {
    if (isRequired) this.isLeftOut = true;
    this.problems.push({ field: name, code: 'value_invalid', ...why });
  }

  #isRefused(name: string): boolean {
    return this.problems.some(({ field, code }) => field === name && code === 'value_invalid');
  }
}

const SHOWN = 200;

/** The source of a field's value. Source: docs/interface §16.2. */

export type FieldSource =
  | { readonly attribute: string }
  | { readonly field: OwnField }
  | { readonly constant: string }
  | { readonly template: string }
  | { readonly expression: string };

/** The sources by the format's field names, in the order of the columns. */
export type ChannelMapping = Readonly<Record<string, FieldSource>>;

const listOf = (text: string | undefined): readonly string[] => (text ? [text] : []);
const joinPath = (path: readonly string[]) => path.join(' > ');

/** The fields that every product has besides attributes. */
export const OWN_FIELDS = {
  identifier: ({ identifier }) => [identifier],
  groupIdentifier: ({ groupIdentifier }) => listOf(groupIdentifier),
  name: ({ name }) => listOf(name),
  productUrl: ({ productUrl }) => listOf(productUrl),
  image: ({ images }) => listOf(mainImage(images)?.url),
  images: ({ images }) => images.map(({ url }) => url),
  additionalImages({ images }) {
    const main = mainImage(images);
    return images.filter((image) => image !== main).map(({ url }) => url);
  },
  category: ({ categories }) => listOf(mainCategory(categories)?.path.at(-1)),
  categoryPath({ categories }) {
    const main = mainCategory(categories);
    return main === undefined ? [] : [joinPath(main.path)];
  },
  categories: ({ categories }) => categories.map(({ path }) => joinPath(path)),
} satisfies Record<string, (product: UploadedProduct) => readonly string[]>;

type OwnField = keyof typeof OWN_FIELDS;

export const findIdentifying = (mapping: ChannelMapping, identifiedBy: string | undefined) =>
  identifiedBy ??
  Object.keys(mapping).find((name) => {
    const source = mapping[name];
    return source !== undefined && 'field' in source && source.field === 'identifier';
  });

/** Text, or a name in braces. `{{` and `}}` are literal braces. */
type TemplatePart = { readonly text: string } | { readonly name: string };

/** @returns undefined for an unmatched brace */
export function readTemplate(template: string): TemplatePart[] | undefined {
  const parts: TemplatePart[] = [];
  for (const [match, name] of template.matchAll(/\{\{|\}\}|\{([^{}]+)\}|[^{}]+|[{}]/g)) {
    if (match === '{' || match === '}') return undefined;
    parts.push(
      name === undefined ? { text: match === '{{' || match === '}}' ? match.charAt(0) : match } : { name },
    );
  }
  return parts;
}

/**
 * @returns the names of attributes that a source uses; a name in a template may also be a field that every product has
 */
export function* listNames(source: FieldSource): Generator<{ name: string; mayBeOwn: boolean }> {
  if ('attribute' in source) yield { name: source.attribute, mayBeOwn: false };
  if (!('template' in source)) return;
  for (const part of readTemplate(source.template) ?? [])
    if ('name' in part) yield { name: part.name, mayBeOwn: true };
}

/** `Ver­füg­barkeit (Lager)` and `verfugbarkeitlager` are the same name. */
const plain = (name: string) =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]/gu, '');

/** @returns a source for each field that the products seem to have, for a channel without a mapping */
export function suggestMapping(format: OutputFormat, attributes: readonly Attribute[]): ChannelMapping {
  // If attributes have the same plain name, the first one in the ontology takes precedence.
  const byName = new Map(
    attributes
      .toReversed()
      .flatMap(({ name, synonyms = [] }) =>
        [...synonyms, name].map((alias) => [plain(alias), name] as const),
      ),
  );
  const mapping: Record<string, FieldSource> = {};
  for (const [field, suggested] of Object.entries(format.suggestions)) {
    const source = suggestSource(field, suggested, byName);
    if (source !== undefined) mapping[field] = source;
  }
  if (!format.suggestsAttributes) return mapping;
  const taken = new Set(
    Object.values(mapping).flatMap((source) => ('attribute' in source ? source.attribute : [])),
  );
  const isOther = ({ name }: Attribute) =>
    format.fieldNamed === undefined || (!taken.has(name) && format.fieldNamed(name) !== undefined);
  const others = attributes.filter(
    (attribute) => !Object.hasOwn(mapping, attribute.name) && isOther(attribute),
  );
  return { ...mapping, ...Object.fromEntries(others.map(({ name }) => [name, { attribute: name }])) };
}

function suggestSource(
  field: string,
  { field: own, attributes = [] }: SuggestedSource,
  byName: ReadonlyMap<string, string>,
): FieldSource | undefined {
  if (own !== undefined) return { field: own as OwnField };
  const attribute = [plain(field), ...attributes]
    .map((name) => byName.get(name))
    .find((candidate) => candidate !== undefined);
  return attribute === undefined ? undefined : { attribute };
}
