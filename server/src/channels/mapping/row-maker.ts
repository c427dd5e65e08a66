import { type Attribute, indexByKey, isBlank, type UploadedProduct } from '../../catalog/catalog.ts';
import type { ExpressionResult } from '../../pipelines/pipelines.ts';
import { type ChannelFormat, type Field, freeField, type ReadField, readField } from '../formats/formats.ts';
import { type ChannelMapping, type FieldSource, OWN_FIELDS, type OwnField, readTemplate } from './source.ts';

/** What is wrong with a field of a product, in words. */
export interface FieldProblem {
  readonly field: string;
  /** `field_missing` and `value_invalid` of a required field leave the product out. */
  readonly code: 'field_missing' | 'value_invalid' | 'value_shortened' | 'related_left_out';
  readonly value?: string;
  readonly message: string;
}

export interface MadeRow {
  readonly values: readonly (readonly string[])[];
  readonly problems: readonly FieldProblem[];
  readonly isLeftOut: boolean;
}

interface RowMaker {
  readonly columns: readonly Field[];
  /** JSONata, each once; `make` takes their results in this order. */
  readonly expressions: readonly string[];
  make(product: UploadedProduct, results?: readonly ExpressionResult[]): MadeRow;
}

const NONE: readonly string[] = [];

interface Read {
  readonly product: UploadedProduct;
  readonly slots: readonly (readonly string[])[];
  readonly results: readonly ExpressionResult[];
}

type Getter = (read: Read) => readonly string[] | { readonly problem: string };

/** Attributes that are read, each with a place of its own: values are found in one pass over a product. */
class Slots {
  readonly #attributes: ReadonlyMap<string, Attribute>;
  /** By the key of an upload. */
  readonly #places = new Map<string, number>();
  #count = 0;

  constructor(attributes: readonly Attribute[]) {
    this.#attributes = indexByKey(attributes);
  }

  has = (name: string): boolean => this.#attributes.has(name);

  place(name: string): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const attribute = this.#attributes.get(name);
    const at = this.#count;
    this.#count += 1;
    for (const key of attribute ? [attribute.name, ...(attribute.synonyms ?? [])] : [name])
      this.#places.set(key, at);
    return at;
  }

  /** Values for some groups of customers are not for everybody who reads a feed. */
  read({ attributes }: UploadedProduct): (readonly string[])[] {
    const slots: string[][] = [];
    for (const { key, value, userGroups } of attributes) {
      const at = this.#places.get(key);
      if (at === undefined || userGroups !== undefined) continue;
      const values = slots[at];
      if (values === undefined) slots[at] = [value];
      else values.push(value);
    }
    return slots;
  }
}

/** @param attributes of the ontology; a name that it does not know any more has no value */
export function createRowMaker(
  format: ChannelFormat,
  mapping: ChannelMapping,
  attributes: readonly Attribute[],
): RowMaker {
  const slots = new Slots(attributes);
  const expressions: string[] = [];
  const known = new Map(format.fields?.map((field) => [field.name, field]));
  const columns = Object.keys(mapping).map((name) => known.get(name) ?? freeField(name));
  const readers = columns.map(openReader);
  const getters = Object.values(mapping).map((source) => openSource(source, slots, expressions));
  const absent = (format.fields ?? []).filter(({ name, isRequired }) => isRequired && !(name in mapping));
  const places = new Map(columns.map(({ name }, at) => [name, at]));
  const conditions = (format.conditions ?? []).map(({ field, requires, ...condition }) => ({
    ...{ field, requires, when: condition.values },
    ...{ at: places.get(field) ?? -1, requiredAt: places.get(requires) ?? -1 },
  }));

  return {
    columns,
    expressions,
    make(product, results = []) {
      const read = { product, slots: slots.read(product), results };
      const row = new RowCheck(format.type);
      const values = getters.map((get, at) => row.take(readers[at] as FieldReader, get(read)));
      for (const { name } of absent) row.miss(name, 'the mapping has no such field');
      for (const { field, requires, when, at, requiredAt } of conditions) {
        const [value = ''] = values[at] ?? NONE;
        const isMissing = when.includes(value) && (values[requiredAt] ?? NONE).length === 0;
        if (isMissing) row.miss(requires, `it is required where ${field} is ${value}`);
      }
      return { values, problems: row.problems, isLeftOut: row.isLeftOut };
    },
  };
}

function openSource(source: FieldSource, slots: Slots, expressions: string[]): Getter {
  if ('attribute' in source) {
    const at = slots.place(source.attribute);
    return (read) => read.slots[at] ?? NONE;
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
  const known = expressions.indexOf(source.expression);
  const at = known < 0 ? expressions.push(source.expression) - 1 : known;
  return ({ results }) => readResult(results[at]);
}

function readResult(result: ExpressionResult | undefined): ReturnType<Getter> {
  if (result === undefined || result === null) return NONE;
  if (typeof result === 'boolean') return [String(result)];
  if (typeof result === 'string') return result === '' ? NONE : [result];
  return 'problem' in result ? { problem: result.problem } : result;
}

/** Without a value for one of its names it has none: a price without an amount is no price. */
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

interface FieldReader {
  readonly field: Field;
  read(text: string): ReadField;
}

/** Constants, and what products that follow each other have in common, are checked once. */
function openReader(field: Field): FieldReader {
  let last: string | undefined;
  let answer: ReadField;
  return {
    field,
    read(text) {
      if (text === last) return answer;
      answer = readField(text, field);
      last = text;
      return answer;
    },
  };
}

/** Checks the fields of one product. */
class RowCheck {
  readonly problems: FieldProblem[] = [];
  isLeftOut = false;
  readonly #format: string;

  constructor(format: string) {
    this.#format = format;
  }

  /** @returns the values as the format writes them */
  take(reader: FieldReader, found: ReturnType<Getter>): readonly string[] {
    const { field } = reader;
    if ('problem' in found) {
      this.#refuse(field, { message: `${field.name}: ${found.problem}` });
      return NONE;
    }
    const taken = found.length === 1 ? this.#takeOne(reader, found) : this.#takeSome(reader, found);
    if (taken.length === 0 && field.isRequired && !this.#isRefused(field.name))
      this.miss(field.name, 'its source has no value for this product');
    return taken;
  }

  /** Most fields have one value, and most values stand as they are. */
  #takeOne(reader: FieldReader, found: readonly string[]): readonly string[] {
    const [text = ''] = found;
    if (isBlank(text)) return NONE;
    const value = this.#read(reader, text);
    if (value === undefined) return NONE;
    return value === text ? found : [value];
  }

  #takeSome(reader: FieldReader, found: readonly string[]): readonly string[] {
    const { most = 1 } = reader.field;
    const taken: string[] = [];
    for (const text of found) {
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

  /** @returns undefined for a value that cannot stand there */
  #read({ field, read: check }: FieldReader, text: string): string | undefined {
    const read = check(text);
    if ('problem' in read) {
      this.#refuse(field, { value: text.slice(0, SHOWN), message: `${field.name} ${read.problem}` });
      return undefined;
    }
    if (read.note !== undefined)
      this.problems.push({
        field: field.name,
        code: 'value_shortened',
        message: `${field.name} ${read.note}`,
      });
    return read.value;
  }

  #refuse({ name, isRequired }: Field, { value, message }: { value?: string; message: string }): void {
    if (isRequired) this.isLeftOut = true;
    this.problems.push({
      field: name,
      code: 'value_invalid',
      ...(value !== undefined && { value }),
      message,
    });
  }

  #isRefused(name: string): boolean {
    return this.problems.some(({ field, code }) => field === name && code === 'value_invalid');
  }
}

const SHOWN = 200;
