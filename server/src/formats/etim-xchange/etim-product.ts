/** Assembles a product of ETIM xChange from the values of its columns. */

import { type Member, membersOf, PRODUCT, type Step, type Target } from './etim-members.ts';
import { findUnitMember, isAmount, UNIT_WORDS } from './etim-names.ts';

const WORDS = new Set(Object.values(UNIT_WORDS));

/** A value without its unit. For a feature, the leaf depends on the form of the value. */
interface Read {
  readonly leaf: string;
  readonly text: string;
  readonly unit: string;
}

export function readValue({ leaf }: Target, value: string): Read {
  if (leaf === 'EtimValueLogical') {
    const kind = /^EV\d{6}$/.test(value) ? 'EtimValueCode' : 'EtimValueNumeric';
    return { leaf: /^(?:true|false)$/.test(value) ? leaf : kind, text: value, unit: '' };
  }
  const [, text = value, word = ''] = /^(\S+) (\S{1,12})$/.exec(value) ?? [];
  if (isAmount(leaf)) return { leaf, text, unit: word };
  const isMeasure = leaf === 'ClassificationFeatureValue1' ? /^[-+\d]/.test(value) : WORDS.has(word);
  return findUnitMember(leaf) !== undefined && isMeasure
    ? { leaf, text, unit: word }
    : { leaf, text: value, unit: '' };
}

/** An element of a list of an unfinished product, and the number of the row whose values it has. */
interface Element {
  readonly row: number;
  readonly object: Record<string, unknown>;
}

interface Opening {
  readonly row: number | undefined;
  /** Whether the row belongs to this list, and not to a list within it. */
  readonly isOwn: boolean;
  readonly leaf: string;
  readonly value: string;
}

/** Assembles a product. Values without a row apply to every row. */
export function openProduct(notes: Notes) {
  const product: Record<string, unknown> = {};
  const leftOut: string[] = [];

  function add({ target, value, row }: Cell): void {
    const read = readValue(target, value);
    if (read.text === '') return;
    const innermost = target.steps.findLastIndex(({ member, key }) => member.isList && key === undefined);
    let objects = [product];
    for (const [depth, step] of target.steps.entries())
      objects = objects.flatMap((object) =>
        open(object, step, { row, isOwn: depth === innermost, leaf: read.leaf, value: read.text }),
      );
    for (const object of objects) set(object, target, read);
  }

  function set(object: Record<string, unknown>, target: Target, read: Read): void {
    const { leaf, text } = read;
    const problem = setUnit(notes, object, read);
    if (problem !== undefined) {
      leftOut.push(`${leaf} was left out: ${problem}`);
      return;
    }
    const member = membersOf(target).get(leaf);
    const value = toJson(text, member?.form ?? '');
    if (member?.isList) object[leaf] = [...new Set([...((object[leaf] as unknown[]) ?? []), value])];
    else object[leaf] ??= value;
    if (/Language$/.test(leaf)) notes.languages.add(text);
  }

  return {
    add,
    /** @returns the product in the order of the standard, and the parts that were left out, with reasons */
    finish: () => ({ product: complete(product, PRODUCT, { path: '', leftOut }) ?? {}, leftOut }),
  };
}

function open(object: Record<string, unknown>, step: Step, opening: Opening): Record<string, unknown>[] {
  const { name, member, key } = step;
  object[name] ??= member.isList ? [] : {};
  if (!member.isList) return [object[name] as Record<string, unknown>];
  const elements = object[name] as Element[];
  const { row, isOwn, leaf, value } = opening;
  const candidates = key === undefined ? findByRow(elements, row, isOwn) : findByKey(elements, key);
  const isAlone = isOwn && row === undefined;
  if (isAlone && candidates.some((element) => element.object[leaf] === value)) return [];
  // A repeated name becomes a separate element, and so does each further value of a member.
  const isShared = key === undefined ? !isAlone : key.isUnique;
  const free = isShared ? candidates : candidates.filter((element) => isFree(element, leaf, member));
  if (free.length > 0) return free.map((element) => element.object);
  return [addElement(elements, row ?? 0, key)];
}

/** @returns why the value cannot be placed: it has another unit, or another currency than the whole file */
function setUnit(notes: Notes, object: Record<string, unknown>, { leaf, unit: word }: Read) {
  if (word === '') return undefined;
  if (isAmount(leaf)) {
    notes.currency ||= word;
    return word === notes.currency ? undefined : `the file is in ${notes.currency}`;
  }
  const unit = findUnitMember(leaf) ?? '';
  const code = unit === 'ClassificationFeatureUnit' ? word : (codeOf(word) ?? word);
  object[unit] ??= code;
  return object[unit] === code ? undefined : `${unit} is ${object[unit]}`;
}

function addElement(elements: Element[], row: number, key: Step['key']): Record<string, unknown> {
  const object = key === undefined ? {} : { [key.name]: key.value };
  elements.push({ row, object });
  elements.sort((a, b) => a.row - b.row);
  return object;
}

const codeOf = (word: string) => Object.keys(UNIT_WORDS).find((code) => UNIT_WORDS[code] === word);

const isFree = ({ object }: Element, leaf: string, { members }: Member) =>
  object[leaf] === undefined || members.get(leaf)?.isList === true || members.get(leaf)?.form === undefined;

function findByRow(elements: Element[], row: number | undefined, isOwn: boolean): Element[] {
  if (row === undefined) return elements;
  if (isOwn) return elements.filter((element) => element.row === row);
  return elements.filter((element) => element.row <= row).slice(-1);
}

const findByKey = (elements: Element[], { name, value }: NonNullable<Step['key']>) =>
  elements.filter((element) => element.object[name] === value);

function toJson(text: string, form: string): unknown {
  if (form === 'boolean') return text === 'true';
  return form === 'integer' || form === 'count' || form === 'number' ? Number(text) : text;
}

interface Completing {
  readonly path: string;
  readonly leftOut: string[];
}

/** @returns undefined if the object lacks a required member */
function complete(object: Record<string, unknown>, { members }: Member, { path, leftOut }: Completing) {
  const completed: Record<string, unknown> = {};
  for (const [name, member] of members) {
    const within = { path: path === '' ? name : `${path}.${name}`, leftOut };
    const value = completeMember(object[name], member, within);
    if (value !== undefined) completed[name] = value;
    else if (member.isRequired) {
      leftOut.push(`${path || 'the product'} was left out: ${name} is missing`);
      return undefined;
    }
  }
  return completed;
}

function completeMember(value: unknown, member: Member, within: Completing): unknown {
  if (member.form !== '') return value;
  if (!member.isList)
    return value === undefined ? undefined : complete(value as Record<string, unknown>, member, within);
  const elements = ((value as Element[] | undefined) ?? []).flatMap(
    ({ object }) => complete(object, member, within) ?? [],
  );
  return elements.length > 0 || (member.isRequired && !member.isFilled) ? elements : undefined;
}

/** What the head and the end of the file state about all products. */
export interface Notes {
  supplier: string;
  currency: string;
  readonly languages: Set<string>;
}

export interface Cell {
  readonly target: Target;
  readonly value: string;
  readonly row?: number | undefined;
}
