import { copyText, FormatProblem, tooLarge } from '../input/input.ts';
import type { XmlElement } from '../xml/read-xml.ts';

/** The catalog of a wholesaler has some ten thousand groups. */
const GROUPS = 200_000;
/** As many products as a catalog of this service may have, in two groups each. */
const MEMBERSHIPS = 2_000_000;
/** The limit of docs/interface §2.3; one more is stored, so that a report names it. */
const GROUPS_OF_PRODUCT = 100;
/** The limit of docs/interface §2.3; also stops at groups that are their own parents. */
const LEVELS = 20;

/** Describes a feature of a classification. */
const TEMPLATE = 'CLASSIFICATION_SYSTEM_FEATURE_TEMPLATE';
const ELEMENTS = new Set(['HEADER', 'CATALOG_STRUCTURE', 'CLASSIFICATION_GROUP', TEMPLATE, 'ALLOWED_VALUE']);

interface Group {
  readonly name: string;
  readonly parent: string;
  readonly isRoot: boolean;
}

/** What products refer to elsewhere in the catalog: its header, its groups, and their members. */
export class BmecatIndex {
  readonly languages: BmecatLanguages;
  /** Characters of the stored names and numbers. */
  #characters = 0;
  readonly features = new Map<string, Feature>();
  readonly #valueNames = new Map<string, string>();
  readonly #groups = new Map<string, Group>();
  /** Identifiers of groups, by number: most products name the same few. */
  readonly #groupIds: string[] = [];
  readonly #groupNumbers = new Map<string, number>();
  readonly #memberships = new Map<string, number | number[]>();
  #membershipCount = 0;
  /** The classification whose groups are being read. */
  #system = '';
  /** For prices that name none. */
  currency = '';
  #mimeRoot = '';

  constructor(language?: string) {
    this.languages = new BmecatLanguages(language);
  }

  /** @param path names around the element */
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

  /** An absolute address is unchanged; others are relative to the catalog's. */
  addressOf(source: string): string {
    if (this.#mimeRoot === '' || /^[a-z][a-z\d+.-]{1,20}:/i.test(source)) return source;
    const root = this.#mimeRoot.endsWith('/') ? this.#mimeRoot.slice(0, -1) : this.#mimeRoot;
    return `${root}/${source.startsWith('/') ? source.slice(1) : source}`;
  }

  /** @returns the path of a group of a classification, from the top to the leaf; none if the catalog lacks it */
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

  /** @returns the number itself if the catalog does not name it */
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
    const known = this.#groupNumbers.get(groupId);
    if (known !== undefined) return known;
    const stored = this.#keep(groupId);
    this.#groupNumbers.set(stored, this.#groupIds.length);
    return this.#groupIds.push(stored) - 1;
  }

  /** The root stands for the catalog and is not a category. */
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

/** Two classifications may number their groups alike; no group of the catalog begins with NUL. */
const classKey = (system: string, id: string): string => `\0${system}\0${id}`;

/** ECLASS has 25,000 features and 90,000 values; a catalog holds those of its products. */
const FEATURES = 500_000;
/** The limit of all stored names and numbers of a catalog, at most 128 MiB. */
const CHARACTERS = 64 * 1024 * 1024;

export interface Feature {
  readonly id: string;
  readonly name: string;
  readonly unit: string;
}

const tooMany = (most: number, what: string): FormatProblem =>
  tooLarge(`The catalog has more than ${most.toLocaleString('en')} ${what}`);

/** A catalog names a few; a damaged file must not make this grow without bound. */
const LANGUAGES = 1_000;

/** The languages of a catalog's texts, and the one that is read. BMEcat uses ISO 639-2: `deu`, also written `ger`. */
class BmecatLanguages {
  readonly #requested: string | undefined;
  /** Languages of elements that are read: as written in the catalog, in order of appearance, with the language that is meant. */
  readonly #seen = new Map<string, string>();
  /** Languages of all others. They are met before preceding elements are read, how long before depends on the file's pieces. */
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
   * @returns the code of the language that is read, and of the others; undefined if the catalog names none
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

  /** Of elements that are repeated for each language, returns only those in the language that is read, or else the first. */
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

  /** @returns the text of a child in the language that is read; '' if there is none */
  textOf(element: XmlElement | undefined, name: string): string {
    return this.choose(element?.children ?? []).find((child) => child.name === name)?.text ?? '';
  }

  #isRead(code: string): boolean {
    return this.#read !== undefined && this.#seen.get(code) === this.#read;
  }
}

const codeOf = ({ attributes }: XmlElement): string => attributes.get('lang') ?? '';

/** @returns `de` for `deu`, `ger`, `de` and `DE-AT`; an invalid code unchanged, in lower case */
function readLanguage(code: string): string {
  try {
    return new Intl.Locale(code.trim()).language;
  } catch {
    return code.trim().toLowerCase();
  }
}
