/** The members of a product of ETIM xChange, and the search for the member that a column names. */
import { ETIM_FIELDS, ETIM_FORMS } from './etim-fields.ts';
import { NAMED_LISTS, type NamedList, SILENT_LISTS } from './etim-names.ts';

export interface Member {
  readonly isList: boolean;
  readonly isRequired: boolean;
  readonly isFilled: boolean;
  readonly form: string;
  readonly members: Map<string, Member>;
}

export const PRODUCT = readFields();

function readFields(): Member {
  const root = newMember('');
  for (const line of ETIM_FIELDS.trim().split('\n')) {
    const [path = '', ...fields] = line.split(' ');
    const names = path.split('.');
    const last = newMember(names.at(-1) ?? '');
    const object = names.slice(0, -1).reduce((member, name) => member.members.get(name) as Member, root);
    object.members.set(nameOf(names.at(-1) ?? ''), last);
    for (const field of fields) {
      const [name = ''] = field.split(':', 1);
      last.members.set(nameOf(name), newMember(name, field.slice(name.length + 1)));
    }
  }
  return root;
}

function nameOf(marked: string): string {
  return marked.replace(/[^A-Za-z0-9]+$/, '');
}

function newMember(marked: string, form = ''): Member {
  return {
    isList: marked.includes('[]'),
    isRequired: marked.endsWith('!'),
    isFilled: marked.includes('+'),
    form,
    members: new Map(),
  };
}

const PATTERNS: Readonly<Record<string, string>> = {
  gln: '[0-9]{13}',
  duns: '[0-9]{9}',
  gtin: '[0-9]{8,14}',
  integer: '[0-9]{1,15}',
  country: '[A-Z]{2}',
  language: '[a-z]{2}-[A-Z]{2}',
  boolean: 'true|false',
  count: '[1-9][0-9]{0,14}',
  uri: String.raw`[A-Za-z][\w+.-]*:[\w!#$%&'()*+,./:;=?@[\]~-]+`,
  number: String.raw`-?\d+(?:\.\d+)?`,
  decimal: String.raw`\d{1,12}(?:\.\d{0,4})?`,
  signed: String.raw`-?\d{1,12}(?:\.\d{0,4})?`,
  price: String.raw`\d{1,11}(?:\.\d{0,4})?`,
  date: String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`,
};

function patternOf(form: string): string {
  const pattern = PATTERNS[form];
  if (pattern !== undefined) return pattern;
  const [, least = '1', most] = /^(?:(\d+)-)?(\d+)$/.exec(form) ?? [];
  if (most !== undefined) return String.raw`[\s\S]{${least},${most}}`;
  if (form.startsWith('^')) return form.slice(1, -1);
  return (ETIM_FORMS[form] ?? form).replaceAll('_', ' ').replaceAll('.', String.raw`\.`);
}

const patterns = new Map<string, RegExp>();

export const matches = (text: string, form: string): boolean =>
  patterns.getOrInsertComputed(form, () => new RegExp(`^(?:${patternOf(form)})$`)).test(text);

/** An object on the path to a value. An element of a list is identified by its name or its row. */
export interface Step {
  readonly name: string;
  readonly member: Member;
  readonly key?: { readonly name: string; readonly value: string; readonly isUnique?: true };
}

export interface Target {
  readonly steps: readonly Step[];
  readonly leaf: string;
}

const FEATURE = /^EF(?:\d{6}|I\d{5}|[A-Z]{2}\d{4})(?=\.|$)/;

/** @returns where a column of the pipeline format belongs in a product; undefined if the standard has no such name */
export function findTarget(column: string): Target | undefined {
  if (FEATURE.test(column)) return walk(`EtimClassification.EtimFeatures.${column}`.split('.'), PRODUCT, []);
  return walk(column.split('.'), PRODUCT, []);
}

function walk(names: readonly string[], object: Member, steps: readonly Step[]): Target | undefined {
  const [name = '', ...rest] = names;
  const member = object.members.get(name);
  if (member === undefined) return walkSilent(names, object, steps);
  if (Object.hasOwn(NAMED_LISTS, name)) return walkNamed(rest, { name, member }, steps);
  if (member.form === '') return walk(rest, member, [...steps, { name, member }]);
  return rest.length === 0 ? { steps, leaf: name } : undefined;
}

function walkNamed(names: readonly string[], { name, member }: Step, steps: readonly Step[]) {
  const list = NAMED_LISTS[name] as NamedList;
  const namesAfter = splitName(name, names);
  const value = names.slice(0, names.length - namesAfter.length).join('.');
  if (!matches(value, member.members.get(list.key)?.form ?? '')) return undefined;
  const named = [...steps, { name, member, key: { name: list.key, value } }];
  const leaf = list.values.at(-1);
  if (namesAfter.length > 0 || leaf === undefined) return walk(namesAfter, member, named);
  return { steps: named, leaf };
}

/**
 * A name in another classification may contain dots.
 * @returns the parts after the name
 */
function splitName(list: string, names: readonly string[]): readonly string[] {
  if (list !== 'ClassificationFeatures') return names.slice(1);
  return names.length > 1 && names.at(-1) === 'ClassificationFeatureValue2' ? names.slice(-1) : [];
}

/** Finds features of a port and related products. Their columns do not contain the names of their lists. */
function walkSilent(names: readonly string[], object: Member, steps: readonly Step[]): Target | undefined {
  const [list = '', leaf = ''] =
    Object.entries(SILENT_LISTS).find(([listName]) => object.members.has(listName)) ?? [];
  const member = object.members.get(list);
  if (member === undefined || steps.at(-1)?.name === list) return undefined;
  if (leaf !== '')
    return walk(names.length === 0 ? [leaf] : names, member, [...steps, { name: list, member }]);
  return FEATURE.test(names[0] ?? '') ? walk([list, ...names], object, steps) : undefined;
}

export const membersOf = ({ steps }: Target) => (steps.at(-1)?.member ?? PRODUCT).members;
