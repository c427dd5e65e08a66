/** Products in ETIM xChange 2.0: writes back what its pipeline format reads. Source: its guideline of 2025-11-27. */
import {
  findUnitMember,
  isAmount,
  NAMED_LISTS,
  type NamedList,
  SILENT_LISTS,
  UNIT_WORDS,
} from '../../pipelines/formats/formats.ts';
import { ETIM_FIELDS, ETIM_FORMS } from './etim-fields.ts';
import type { ChannelFormat, FeedRow, Field, RelatedAs, RowWriter, WriterOptions } from './format.ts';

interface Member {
  readonly isList: boolean;
  readonly isRequired: boolean;
  readonly isFilled: boolean;
  readonly form: string;
  readonly members: Map<string, Member>;
}

const PRODUCT = readFields();

function readFields(): Member {
  const root = newMember('');
  for (const line of ETIM_FIELDS.trim().split('\n')) {
    const [path = '', ...fields] = line.split(' ');
    const names = path.split('.');
    const last = newMember(names.at(-1) ?? '');
    const object = names.slice(0, -1).reduce((one, name) => one.members.get(name) as Member, root);
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
  const known = PATTERNS[form];
  if (known !== undefined) return known;
  const [, least = '1', most] = /^(?:(\d+)-)?(\d+)$/.exec(form) ?? [];
  if (most !== undefined) return String.raw`[\s\S]{${least},${most}}`;
  if (form.startsWith('^')) return form.slice(1, -1);
  return (ETIM_FORMS[form] ?? form).replaceAll('_', ' ').replaceAll('.', String.raw`\.`);
}

const patterns = new Map<string, RegExp>();

const matches = (text: string, form: string): boolean =>
  patterns.getOrInsertComputed(form, () => new RegExp(`^(?:${patternOf(form)})$`)).test(text);

/** An object on the path to a value; one of a list is identified by its name or its row. */
interface Step {
  readonly name: string;
  readonly member: Member;
  readonly key?: { readonly name: string; readonly value: string; readonly isUnique?: true };
}

interface Target {
  readonly steps: readonly Step[];
  readonly leaf: string;
}

const FEATURE = /^EF(?:\d{6}|I\d{5}|[A-Z]{2}\d{4})(?=\.|$)/;
const WORDS = new Set(Object.values(UNIT_WORDS));

/** @returns the place of a column of the pipeline format; undefined for a name that the standard does not have */
function findTarget(column: string): Target | undefined {
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
  const others = splitName(name, names);
  const value = names.slice(0, names.length - others.length).join('.');
  if (!matches(value, member.members.get(list.key)?.form ?? '')) return undefined;
  const named = [...steps, { name, member, key: { name: list.key, value } }];
  const leaf = list.values.at(-1);
  if (others.length > 0 || leaf === undefined) return walk(others, member, named);
  return { steps: named, leaf };
}

/** A name in another classification may contain dots. @returns the parts after the name */
function splitName(list: string, names: readonly string[]): readonly string[] {
  if (list !== 'ClassificationFeatures') return names.slice(1);
  return names.length > 1 && names.at(-1) === 'ClassificationFeatureValue2' ? names.slice(-1) : [];
}

/** Features of a port, and related products, whose columns do not name their lists. */
function walkSilent(names: readonly string[], object: Member, steps: readonly Step[]): Target | undefined {
  const [list = '', leaf = ''] = Object.entries(SILENT_LISTS).find(([one]) => object.members.has(one)) ?? [];
  const member = object.members.get(list);
  if (member === undefined || steps.at(-1)?.name === list) return undefined;
  if (leaf !== '')
    return walk(names.length === 0 ? [leaf] : names, member, [...steps, { name: list, member }]);
  return FEATURE.test(names[0] ?? '') ? walk([list, ...names], object, steps) : undefined;
}

/** A value without its unit; for a feature, by its form. */
interface Read {
  readonly leaf: string;
  readonly text: string;
  readonly unit: string;
}

function readValue({ leaf }: Target, value: string): Read {
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

function fieldOf(name: string): Field | undefined {
  const target = findTarget(name);
  if (target === undefined) return undefined;
  return {
    name,
    kind: 'checked',
    most: Number.POSITIVE_INFINITY,
    check(value) {
      const { leaf, text } = readValue(target, value);
      return matches(text, membersOf(target).get(leaf)?.form ?? '');
    },
  };
}

/** An element of a list while its product is assembled, and the number of the row whose values it has. */
interface Element {
  readonly row: number;
  readonly object: Record<string, unknown>;
}

interface Opening {
  readonly row: number | undefined;
  /** Whether its row belongs to this list, and not to one within it. */
  readonly isOwn: boolean;
  readonly leaf: string;
  readonly value: string;
}

/** Assembles a product. Values without a row apply to every row, as everywhere. */
function openProduct(notes: Notes) {
  const product: Record<string, unknown> = {};
  const leftOut: string[] = [];

  function add({ target, value, row }: Cell): void {
    const read = readValue(target, value);
    if (read.text === '') return;
    const innermost = target.steps.findLastIndex(({ member, key }) => member.isList && key === undefined);
    let objects = [product];
    for (const [at, step] of target.steps.entries())
      objects = objects.flatMap((object) =>
        open(object, step, { row, isOwn: at === innermost, leaf: read.leaf, value: read.text }),
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
    /** @returns the product in the order of the standard, and what was left out and why */
    finish: () => ({ product: complete(product, PRODUCT, { path: '', leftOut }) ?? {}, leftOut }),
  };
}

function open(object: Record<string, unknown>, step: Step, opening: Opening): Record<string, unknown>[] {
  const { name, member, key } = step;
  object[name] ??= member.isList ? [] : {};
  if (!member.isList) return [object[name] as Record<string, unknown>];
  const elements = object[name] as Element[];
  const { row, isOwn, leaf, value } = opening;
  const found = key === undefined ? findByRow(elements, row, isOwn) : findByKey(elements, key);
  const isAlone = isOwn && row === undefined;
  if (isAlone && found.some((one) => one.object[leaf] === value)) return [];
  // A repeated name, or several values of one member, are separate elements.
  const isShared = key === undefined ? !isAlone : key.isUnique;
  const free = isShared ? found : found.filter((one) => isFree(one, leaf, member));
  if (free.length > 0) return free.map((one) => one.object);
  return [addElement(elements, row ?? 0, key)];
}

/** @returns why the value cannot be placed: its unit, or the currency of the whole file, differs */
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

const membersOf = ({ steps }: Target) => (steps.at(-1)?.member ?? PRODUCT).members;

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
  if (isOwn) return elements.filter((one) => one.row === row);
  return elements.filter((one) => one.row <= row).slice(-1);
}

const findByKey = (elements: Element[], { name, value }: NonNullable<Step['key']>) =>
  elements.filter((one) => one.object[name] === value);

function toJson(text: string, form: string): unknown {
  if (form === 'boolean') return text === 'true';
  return form === 'integer' || form === 'count' || form === 'number' ? Number(text) : text;
}

interface Completing {
  readonly path: string;
  readonly leftOut: string[];
}

/** @returns undefined for an object that is not allowed in this state */
function complete(object: Record<string, unknown>, { members }: Member, { path, leftOut }: Completing) {
  const done: Record<string, unknown> = {};
  for (const [name, member] of members) {
    const within = { path: path === '' ? name : `${path}.${name}`, leftOut };
    const value = completeMember(object[name], member, within);
    if (value !== undefined) done[name] = value;
    else if (member.isRequired) {
      leftOut.push(`${path || 'the product'} was left out: ${name} is missing`);
      return undefined;
    }
  }
  return done;
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

/** What the head and the end of the file contain about all products. */
interface Notes {
  supplier: string;
  currency: string;
  readonly languages: Set<string>;
}

const RELATION_TYPES: Readonly<Record<RelatedAs, string>> = {
  accessory: 'ACCESSORY',
  required_part: 'MANDATORY',
  substitute: 'SIMILAR',
  often_bought_with: 'CROSS-SELLING',
  part_of_set: 'CONSISTS_OF',
  different_brand: 'SIMILAR',
};

/** The limit of the shortest description, and of a supplier. */
const NAME_LENGTH = 80;
const NAME = 'ProductDetails.ProductDescriptions.MinimalProductDescription';
const PAGE = 'ProductDetails.ProductDescriptions.ProductPageUrl';
const IDENTIFICATION = 'ProductIdentification.ManufacturerProductNumber';
const MANUFACTURER = 'ProductIdentification.ManufacturerName';
const ATTACHED = 'ProductAttachments.AttachmentDetails.AttachmentUri';

/** The place of a column that corresponds to something a file of the standard may already have. */
const SHOWN: Readonly<Record<string, string>> = { name: NAME, productUrl: PAGE, images: ATTACHED };

function openXchange({ columns, channelName, day }: WriterOptions): RowWriter {
  const notes: Notes = { supplier: '', currency: '', languages: new Set() };
  const targets = columns.map(({ name }) => findTarget(SHOWN[name] ?? name));
  const placeOf = new Map(columns.map(({ name }, at) => [name, at]));
  let count = 0;

  /** Products from such a file have their own descriptions and attachments. */
  const isSaid = (column: string, { values }: FeedRow) =>
    (values[placeOf.get(SHOWN[column] ?? '') ?? -1] ?? []).length > 0;

  function listCells(row: FeedRow): Cell[] {
    const numberOf = numberRows(row);
    return columns.flatMap(({ name }, at): Cell[] => {
      const target = isSaid(name, row) ? undefined : targets[at];
      if (target === undefined) return [];
      const rows = row.rows?.[at];
      const cells = (row.values[at] ?? []).map((value, place) => ({
        target,
        value,
        row: numberOf(rows?.[place]),
      }));
      return FORMED[name] === undefined ? cells : cells.flatMap(FORMED[name]);
    });
  }

  function build(row: FeedRow) {
    const builder = openProduct(notes);
    const cells = listCells(row);
    notes.supplier ||= row.values[placeOf.get('SupplierName') ?? -1]?.[0] ?? '';
    const inRows = cells.filter((cell) => cell.row !== undefined);
    // Elements within a list are placed after the element that contains them.
    inRows.sort((a, b) => depthOf(a) - depthOf(b) || (a.row ?? 0) - (b.row ?? 0));
    for (const cell of [...inRows, ...cells.filter((cell) => cell.row === undefined)]) builder.add(cell);
    for (const cell of listRelated(row)) builder.add(cell);
    return builder.finish();
  }

  /** A row is asked what it leaves out before it is written. */
  const built = new WeakMap<FeedRow, ReturnType<typeof build>>();
  const buildOnce = (row: FeedRow) => built.getOrInsertComputed(row, build);

  return {
    // Read when the first rows are written, which determine what is known about the catalogue.
    get head() {
      const { currency, supplier } = notes;
      const head = {
        SchemaVersion: '2.0',
        CatalogueId: channelName.slice(0, 20),
        CatalogueType: 'FULL',
        GenerationDate: day,
        CatalogueValidityStart: day,
        ...(currency !== '' && { CurrencyCode: currency }),
      };
      const named = JSON.stringify(supplier || channelName.slice(0, NAME_LENGTH));
      return `${JSON.stringify(head).slice(0, -1)},"Supplier":[{"SupplierName":${named},"Product":[`;
    },
    get tail() {
      return `]}],"Language":${JSON.stringify([...notes.languages])}}\n`;
    },
    write(row) {
      count += 1;
      return `${count === 1 ? '' : ','}\n${JSON.stringify(buildOnce(row).product)}`;
    },
    listLeftOut: (row) => buildOnce(row).leftOut,
  };
}

interface Cell {
  readonly target: Target;
  readonly value: string;
  readonly row?: number | undefined;
}

const depthOf = ({ target }: Cell) => target.steps.filter(({ member }) => member.isList).length;

/** Numbers named rows, in the order of their appearance, after all numbered ones. */
function numberRows({ rows = [] }: FeedRow): (row: string | number | undefined) => number | undefined {
  const texts = new Set(
    rows.flatMap((ofColumn) => (ofColumn ?? []).filter((row) => typeof row === 'string')),
  );
  const numbers = new Map([...texts].map((row, at) => [row, Number.MAX_SAFE_INTEGER - texts.size + at]));
  return (row) => (typeof row === 'string' ? numbers.get(row) : row);
}

function listRelated({ related }: FeedRow): Cell[] {
  return related.flatMap(({ as, identifiers, quantities }) => {
    const target = findTarget(`ProductRelations.${RELATION_TYPES[as]}`) as Target;
    return identifiers.flatMap((value): Cell[] => {
      const quantity = quantities?.get(value);
      const counted = { target: countOf(target, value), value: String(quantity) };
      return quantity === undefined ? [{ target, value }] : [{ target, value }, counted];
    });
  });
}

/** The place of the quantity of one related product; a value of the product itself takes precedence. */
function countOf({ steps, leaf }: Target, identifier: string): Target {
  const [list, product] = steps as [Step, Step];
  const key = { name: leaf, value: identifier, isUnique: true } as const;
  return { steps: [list, { ...product, key }], leaf: 'RelatedProductQuantity' };
}

const TYPE = findTarget('ProductAttachments.AttachmentType') as Target;

const FORMED: Readonly<Record<string, (cell: Cell, place: number) => Cell[]>> = {
  // The first picture is the main one; each is a separate attachment.
  images: (cell, place) => [
    { target: TYPE, value: place === 0 ? 'ATX015' : 'ATX018', row: place + 1 },
    { ...cell, row: place + 1 },
  ],
  name: (cell) => [{ ...cell, value: cell.value.slice(0, NAME_LENGTH) }],
};

const checked = (name: string): Field => fieldOf(name) ?? { name, kind: 'text' };

export const etimXchange: ChannelFormat = {
  type: 'etim-xchange',
  label: 'ETIM xChange',
  description:
    'a JSON document of ETIM xChange 2.0; attributes by the names that its pipeline format gives them',
  fields: [
    { ...checked(IDENTIFICATION), isRequired: true, most: 1 },
    { ...checked(MANUFACTURER), isRequired: true, most: 1 },
    { name: 'name', kind: 'text' },
    { ...checked(PAGE), name: 'productUrl', most: 1 },
    { ...checked(ATTACHED), name: 'images' },
    { name: 'SupplierName', kind: 'identifier', maxLength: 80 },
  ],
  fieldNamed: fieldOf,
  identifiedBy: IDENTIFICATION,
  suggestions: {
    [IDENTIFICATION]: { field: 'identifier' },
    [MANUFACTURER]: { attributes: ['manufacturername', 'manufacturer', 'hersteller', 'brand', 'marke'] },
    name: { field: 'name' },
    productUrl: { field: 'productUrl' },
    images: { field: 'images' },
  },
  wholeBecause: 'the standard has no word for a product that is gone',
  suggestsAttributes: true,
  relatedIdentifier: /^.{1,35}$/,
  defaultVariant: 'json',
  variants: { json: { ending: 'json', mediaType: 'application/json; charset=utf-8', open: openXchange } },
};
