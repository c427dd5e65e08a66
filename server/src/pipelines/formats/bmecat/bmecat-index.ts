import { copyText } from '../source-row.ts';
import type { XmlElement } from '../xml/xml.ts';
import { BmecatLanguages } from './bmecat-languages.ts';
import { BmecatTemplates, KeptTexts, TEMPLATES, tooMany } from './bmecat-templates.ts';

/** A wholesaler's catalog has some ten thousand groups. */
const GROUPS = 200_000;
/** As many products as a catalog of this service may have, each in two groups. */
const MEMBERSHIPS = 2_000_000;
/** As docs/interface.md §2.3 allows; one more is kept, so that it is told. */
const GROUPS_OF_PRODUCT = 100;
/** As docs/interface.md §2.3 allows; also ends groups that are their own parents. */
const LEVELS = 20;

const WANTED = new Set(['HEADER', 'CATALOG_STRUCTURE', 'CLASSIFICATION_GROUP', ...TEMPLATES]);

interface Group {
  readonly name: string;
  readonly parent: string;
  readonly isRoot: boolean;
}

/** What products need to know that stands elsewhere in the catalog: its header, its groups, and who is in which. */
export class BmecatIndex {
  readonly #languages: BmecatLanguages;
  readonly #texts = new KeptTexts();
  readonly templates: BmecatTemplates;
  readonly #groups = new Map<string, Group>();
  /** Identifiers of groups, by number: most products name the same few. */
  readonly #groupIds: string[] = [];
  readonly #groupNumbers = new Map<string, number>();
  readonly #memberships = new Map<string, number | number[]>();
  #membershipCount = 0;
  /** The classification that groups are being read of. */
  #system = '';
  #currency = '';
  #mimeRoot = '';

  constructor(language?: string) {
    this.#languages = new BmecatLanguages(language);
    this.templates = new BmecatTemplates(this.#languages, this.#texts);
  }

  /** @param path names around the element */
  isWanted(name: string, path: readonly string[], attributes: Readonly<Record<string, string>>): boolean {
    this.#languages.note(attributes.lang ?? '');
    if (name === 'CLASSIFICATION_SYSTEM_NAME') return path.at(-1) === 'CLASSIFICATION_SYSTEM';
    return WANTED.has(name) || name.endsWith('_TO_CATALOGGROUP_MAP');
  }

  /** @throws FormatProblem too_large */
  take(element: XmlElement): void {
    const { name } = element;
    if (name === 'HEADER') this.#takeHeader(element);
    else if (name === 'CATALOG_STRUCTURE') this.#takeGroup(element);
    else if (name === 'CLASSIFICATION_SYSTEM_NAME') this.#system = copyText(element.text);
    else if (name === 'CLASSIFICATION_GROUP') this.#takeClass(element);
    else if (WANTED.has(name)) this.templates.take(element);
    else this.#takeMembership(element);
  }

  /** @returns the languages, the one that is read first. @throws FormatProblem not_found */
  describeLanguages(): string | undefined {
    return this.#languages.describe();
  }

  /** Used where a price names none. */
  get currency(): string {
    return this.#currency;
  }

  /** Names of the groups of a product, each from the top to the leaf. */
  pathsOf(product: string): string[][] {
    const numbers = this.#memberships.get(product) ?? [];
    const groups = typeof numbers === 'number' ? [numbers] : numbers;
    return groups
      .map((number) => this.#pathOf(this.#groupIds[number] ?? ''))
      .filter((path) => path.length > 0);
  }

  /** An address of its own stays as it is; others are below the catalog's. */
  addressOf(source: string): string {
    if (this.#mimeRoot === '' || /^[a-z][a-z\d+.-]{1,20}:/i.test(source)) return source;
    const root = this.#mimeRoot.endsWith('/') ? this.#mimeRoot.slice(0, -1) : this.#mimeRoot;
    return `${root}/${source.startsWith('/') ? source.slice(1) : source}`;
  }

  inLanguage(elements: readonly XmlElement[]): readonly XmlElement[] {
    return this.#languages.choose(elements);
  }

  /** @returns the path of a group of a classification, from the top to the leaf; none where the catalog does not have it */
  pathsOfClass(system: string, id: string): string[][] {
    const path = this.#pathOf(classKey(system, id));
    return path.length === 0 ? [] : [path];
  }

  #takeHeader(header: XmlElement): void {
    const catalog = header.children.find(({ name }) => name === 'CATALOG');
    const languages = (catalog?.children ?? []).filter(({ name }) => name === 'LANGUAGE');
    const main = languages.find(({ attributes }) => attributes.get('default') === 'true') ?? languages[0];
    this.#languages.noteMain(main?.text ?? '');
    for (const { text } of languages) this.#languages.note(text);
    this.#currency = this.#textOf(catalog, 'CURRENCY');
    this.#mimeRoot = this.#textOf(catalog, 'MIME_ROOT');
  }

  #takeGroup(element: XmlElement): void {
    this.#addGroup(this.#textOf(element, 'GROUP_ID'), {
      name: this.#textOf(element, 'GROUP_NAME'),
      parent: this.#textOf(element, 'PARENT_ID'),
      isRoot: element.attributes.get('type') === 'root',
    });
  }

  #takeClass(element: XmlElement): void {
    const parent = this.#textOf(element, 'CLASSIFICATION_GROUP_PARENT_ID');
    this.#addGroup(classKey(this.#system, this.#textOf(element, 'CLASSIFICATION_GROUP_ID')), {
      name: this.#textOf(element, 'CLASSIFICATION_GROUP_NAME'),
      parent: classKey(this.#system, parent),
      isRoot: false,
    });
  }

  #addGroup(id: string, { name, parent, isRoot }: Group): void {
    const keep = (text: string) => this.#texts.keep(text);
    this.#groups.set(keep(id), { name: keep(name), parent: keep(parent), isRoot });
    if (this.#groups.size > GROUPS) throw tooMany(`${GROUPS.toLocaleString('en')} groups`);
  }

  #takeMembership(element: XmlElement): void {
    const product = this.#textOf(element, 'ART_ID') || this.#textOf(element, 'PROD_ID');
    const group = this.#numberOf(this.#textOf(element, 'CATALOG_GROUP_ID'));
    const present = this.#memberships.get(product);
    this.#membershipCount += 1;
    if (this.#membershipCount > MEMBERSHIPS) throw tooMany(`${MEMBERSHIPS.toLocaleString('en')} memberships`);
    if (present === undefined) this.#memberships.set(this.#texts.keep(product), group);
    else if (typeof present === 'number') this.#memberships.set(product, [present, group]);
    else if (present.length <= GROUPS_OF_PRODUCT) present.push(group);
  }

  #numberOf(groupId: string): number {
    const known = this.#groupNumbers.get(groupId);
    if (known !== undefined) return known;
    const kept = this.#texts.keep(groupId);
    this.#groupNumbers.set(kept, this.#groupIds.length);
    return this.#groupIds.push(kept) - 1;
  }

  #textOf(element: XmlElement | undefined, name: string): string {
    return this.inLanguage(element?.children ?? []).find((child) => child.name === name)?.text ?? '';
  }

  /** The root stands for the catalog and is no category. */
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
