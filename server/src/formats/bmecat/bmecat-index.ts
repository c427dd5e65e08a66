import { copyText, FormatProblem, tooLarge } from '../input/input.ts';
import type { XmlElement } from '../xml/read-xml.ts';

/** A wholesaler's catalog has about ten thousand groups. */
const GROUPS = 200_000;
/** Allows two groups for each product of the largest catalog that this service accepts. */
const MEMBERSHIPS = 2_000_000;
/** The limit of docs/interface §2.3. One more group is stored, so that a report can name the violation. */
const GROUPS_OF_PRODUCT = 100;
/** The limit of docs/interface §2.3. It also ends the walk when a group is its own ancestor. */
const LEVELS = 20;

/** Describes a feature of a classification. */
const TEMPLATE = 'CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE';
const ELEMENTS = new Set(['HEADER', 'CATALOG_STRUCTURE', 'CLASSIFICATION_GROUP', TEMPLATE, 'ALLOWED_VALUE']);

interface Group {
  readonly name: string;
  readonly parent: string;
  readonly isRoot: boolean;
}

/** The parts of a catalog that its products refer to: the header, the groups, and the members of the groups. */
export class BmecatIndex {
  readonly languages: BmecatLanguages;
  /** Characters of the stored names and numbers. */
  #characters = 0;
  readonly features = new Map<string, Feature>();
  readonly #valueNames = new Map<string, string>();
  readonly #groups = new Map<string, Group>();
  /** Identifiers of groups, by number. Numbers save memory, because most products name the same few groups. */
  readonly #groupIds: string[] = [];
  readonly #groupNumbers = new Map<string, number>();
  readonly #memberships = new Map<string, number | number[]>();
  #membershipCount = 0;
  /** The classification whose groups are being read. */
  #system = '';
  /** The currency of a price that names none. */
  currency = '';
  #mimeRoot = '';

  constructor(language?: string) {
    this.languages = new BmecatLanguages(language);
  }

  /** @param path the names of the elements that contain this element */
  isChosen(name: string, path: readonly string[], attributes: Readonly<Record<string, string>>): boolean {
    this.languages.noteAround(attributes.lang ?? '');
    if (name === 'CLASSIFICATION_SYSTEM_NAME') return path.at(-1) === 'CLASSIFICATION_SYSTEM';
    return ELEMENTS.has(name) || name.endsWith('_TO_CATALOGGROUP_MAP');
  }

  /** @throws FormatProblem too_large */
  take(element: XmlElement): void {
    const { name } = element;
    if (name === 'HEADER') this.#takeHeader(element);
    else if (name === 'CATALOG_STRUCTURE') this.#takeGroup(element);
    else if (name === 'CLASSIFICATION_SYSTEM_NAME') this.#system = copyText(element.text);
    else if (name === 'CLASSIFICATION_GROUP') this.#takeClass(element);
    else if (name === 'ALLOWED_VALUE') this.#takeValue(element);
    else if (name === TEMPLATE) this.#takeFeature(this.readTemplate(element));
    else this.#takeMembership(element);
  }

  /** Paths of a product's groups, each from the top to the leaf. */
  pathsOf(product: string): string[][] {
    const numbers = this.#memberships.get(product) ?? [];
    const groups = typeof numbers === 'number' ? [numbers] : numbers;
    return groups
      .map((number) => this.#pathOf(this.#groupIds[number] ?? ''))
      .filter((path) => path.length > 0);
  }

  /** Returns an absolute address unchanged. Any other address is relative to the catalog's MIME_ROOT. */
  addressOf(source: string): string {
    if (this.#mimeRoot === '' || /^[a-z][a-z\d+.-]{1,20}:/i.test(source)) return source;
    const root = this.#mimeRoot.endsWith('/') ? this.#mimeRoot.slice(0, -1) : this.#mimeRoot;
    return `${root}/${source.startsWith('/') ? source.slice(1) : source}`;
  }

  /**
   * @returns the path of a group of a classification, from the top to the leaf; empty if the catalog has no such group
   */
  pathsOfClass(system: string, id: string): string[][] {
    const path = this.#pathOf(classKey(system, id));
    return path.length === 0 ? [] : [path];
  }

  /** @returns the contents of an FTEMPLATE or a template of a classification */
  readTemplate(template: XmlElement): Feature {
    const textOf = (name: string) => this.languages.textOf(template, name);
    const content = template.children.find(({ name }) => /^(FT_)?FEATURE_CONTENT$/.test(name));
    const unit = textOf('FT_UNIT') || this.languages.textOf(content, 'FT_UNIT');
    return { id: textOf('FT_ID'), name: textOf('FT_NAME') || textOf('FT_SHORTNAME'), unit };
  }

  /** @returns the name of a value, or its number if the catalog does not name it */
  nameOfValue(id: string): string {
    return this.#valueNames.get(id) || id;
  }

  #takeFeature({ id, name, unit }: Feature): void {
    this.#addTemplate(this.features, id, { id: '', name: this.#keep(name), unit: this.#keep(unit) });
  }

  #takeValue(element: XmlElement): void {
    const name = this.#keep(this.languages.textOf(element, 'ALLOWED_VALUE_NAME'));
    this.#addTemplate(this.#valueNames, this.languages.textOf(element, 'ALLOWED_VALUE_ID'), name);
  }

  #addTemplate<Value>(to: Map<string, Value>, id: string, value: Value): void {
    if (id !== '') to.set(this.#keep(id), value);
    if (to.size > FEATURES) throw tooMany(FEATURES, 'features or values');
  }

  /** Copies a text that outlives its element. @throws FormatProblem too_large */
  #keep(text: string): string {
    this.#characters += text.length;
    if (this.#characters > CHARACTERS) throw tooMany(CHARACTERS, 'characters of names');
    return copyText(text);
  }

  #takeHeader(header: XmlElement): void {
    const catalog = header.children.find(({ name }) => name === 'CATALOG');
    const languages = (catalog?.children ?? []).filter(({ name }) => name === 'LANGUAGE');
    const main = languages.find(({ attributes }) => attributes.get('default') === 'true') ?? languages[0];
    this.languages.noteMain(main?.text ?? '');
    for (const { text } of languages) this.languages.note(text);
    this.currency = this.languages.textOf(catalog, 'CURRENCY');
    this.#mimeRoot = this.languages.textOf(catalog, 'MIME_ROOT');
  }

  #takeGroup(element: XmlElement): void {
    const textOf = (name: string) => this.languages.textOf(element, name);
    const isRoot = element.attributes.get('type') === 'root';
    this.#addGroup(textOf('GROUP_ID'), { name: textOf('GROUP_NAME'), parent: textOf('PARENT_ID'), isRoot });
  }

  #takeClass(element: XmlElement): void {
    const textOf = (part: string) => this.languages.textOf(element, `CLASSIFICATION_GROUP_${part}`);
    const parent = classKey(this.#system, textOf('PARENT_ID'));
    this.#addGroup(classKey(this.#system, textOf('ID')), { name: textOf('NAME'), parent, isRoot: false });
  }

  #addGroup(id: string, { name, parent, isRoot }: Group): void {
    this.#groups.set(this.#keep(id), { name: this.#keep(name), parent: this.#keep(parent), isRoot });
    if (this.#groups.size > GROUPS) throw tooMany(GROUPS, 'groups');
  }

  #takeMembership(element: XmlElement): void {
    const product = this.languages.textOf(element, 'ART_ID') || this.languages.textOf(element, 'PROD_ID');
    const group = this.#numberOf(this.languages.textOf(element, 'CATALOG_GROUP_ID'));
    const present = this.#memberships.get(product);
    this.#membershipCount += 1;
    if (this.#membershipCount > MEMBERSHIPS) throw tooMany(MEMBERSHIPS, 'memberships');
    if (present === undefined) this.#memberships.set(this.#keep(product), group);
    else if (typeof present === 'number') this.#memberships.set(product, [present, group]);
    else if (present.length <= GROUPS_OF_PRODUCT) present.push(group);
  }

  #numberOf(groupId: string): number {
    const knownNumber = this.#groupNumbers.get(groupId);
    if (knownNumber !== undefined) return knownNumber;
    const stored = this.#keep(groupId);
    this.#groupNumbers.set(stored, this.#groupIds.length);
    return this.#groupIds.push(stored) - 1;
  }

  /** The root group represents the catalog and is not a category. */
  #pathOf(groupId: string): string[] {
    const path: string[] = [];
    let group = this.#groups.get(groupId);
    while (group !== undefined && !group.isRoot && path.length < LEVELS) {
      path.unshift(group.name);
      group = this.#groups.get(group.parent);
    }
    return path;
  }
}

/** Two classifications may use the same group numbers. No group of the catalog itself begins with NUL. */
const classKey = (system: string, id: string): string => `\0${system}\0${id}`;

/** ECLASS has 25,000 features and 90,000 values. A catalog contains only the ones that its products use. */
const FEATURES = 500_000;
/** The limit of all stored names and numbers of a catalog together; they take at most 128 MiB. */
const CHARACTERS = 64 * 1024 * 1024;

export interface Feature {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
}

const tooMany = (most: number, things: string): FormatProblem =>
  tooLarge(`The catalog has more than ${most.toLocaleString('en')} ${things}`);

/** A catalog names a few languages. The limit keeps a damaged file from filling the memory. */
const LANGUAGES = 1_000;

/**
 * The languages of a catalog's texts, and the language to read. BMEcat uses ISO 639-2 codes, such as `deu`, also
 * written `ger`.
 */
class BmecatLanguages {
  readonly #requested: string | undefined;
  /**
   * Languages of the elements that were read, in order of appearance: the code in the catalog, with the language that
   * it means.
   */
  readonly #seen = new Map<string, string>();
  /**
   * Languages of all other elements. They are noted before preceding elements are taken, and how much earlier depends
   * on the chunks of the file.
   */
  readonly #around = new Set<string>();
  #read: string | undefined;

  constructor(requested?: string) {
    this.#requested = requested;
    this.#read = requested === undefined ? undefined : readLanguage(requested);
  }

  note(code: string): void {
    if (code === '' || this.#seen.has(code) || this.#seen.size >= LANGUAGES) return;
    this.#seen.set(copyText(code), readLanguage(code));
  }

  noteAround(code: string): void {
    if (code !== '' && !this.#around.has(code) && this.#around.size < LANGUAGES)
      this.#around.add(copyText(code));
  }

  noteMain(code: string): void {
    this.note(code);
    if (code !== '') this.#read ??= readLanguage(code);
  }

  /**
   * @returns the codes of all languages, beginning with the language that is read; undefined if the catalog names none
   * @throws FormatProblem not_found
   */
  describe(): string | undefined {
    for (const code of this.#around) this.note(code);
    if (this.#seen.size === 0) return undefined;
    const codes = [...this.#seen.keys()].sort((a, b) => Number(this.#isRead(b)) - Number(this.#isRead(a)));
    if (this.#requested === undefined || codes.some((code) => this.#isRead(code))) return codes.join(', ');
    const message = `The catalog has no texts in the language ${this.#requested}; it has ${codes.slice(0, 50).join(', ')}`;
    throw new FormatProblem('not_found', message);
  }

  /**
   * Returns elements that are repeated for each language only once: in the language that is read, or in their first
   * language.
   */
  choose(elements: readonly XmlElement[]): readonly XmlElement[] {
    if (!elements.some(({ attributes }) => attributes.has('lang'))) return elements;
    const chosen = new Map<string, string>();
    for (const element of elements) {
      const code = codeOf(element);
      this.note(code);
      if (code !== '' && (!chosen.has(element.name) || this.#isRead(code))) chosen.set(element.name, code);
    }
    return elements.filter((element) => {
      const code = codeOf(element);
      return code === '' || code === chosen.get(element.name);
    });
  }

  /** @returns the text of a child in the language that is read; '' if the element has no such child */
  textOf(element: XmlElement | undefined, name: string): string {
    return this.choose(element?.children ?? []).find((child) => child.name === name)?.text ?? '';
  }

  #isRead(code: string): boolean {
    return this.#read !== undefined && this.#seen.get(code) === this.#read;
  }
}

const codeOf = ({ attributes }: XmlElement): string => attributes.get('lang') ?? '';

/** @returns `de` for `deu`, `ger`, `de` and `DE-AT`; an invalid code in lower case */
function readLanguage(code: string): string {
  try {
    return new Intl.Locale(code.trim()).language;
  } catch {
    return code.trim().toLowerCase();
  }
}
