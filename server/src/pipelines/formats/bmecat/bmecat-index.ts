import { FormatProblem } from '../format-problem.ts';
import { copyText } from '../source-row.ts';
import type { XmlElement } from '../xml/xml.ts';

/** A wholesaler's catalog has some ten thousand groups. */
const GROUPS = 200_000;
/** As many products as a catalog of this service may have, each in two groups. */
const MEMBERSHIPS = 2_000_000;
/** As docs/interface.md §2.3 allows; one more is kept, so that it is told. */
const GROUPS_OF_PRODUCT = 100;
/** All names and numbers that are kept, 128 MiB at most. */
const CHARACTERS = 64 * 1024 * 1024;
/** As docs/interface.md §2.3 allows; also ends groups that are their own parents. */
const LEVELS = 20;

interface Group {
  name: string;
  parent: string;
  isRoot: boolean;
}

/** What products need to know that stands elsewhere in the catalog: its header, its groups, and who is in which. */
export class BmecatIndex {
  readonly #wantedLanguage: string | undefined;
  readonly #groups = new Map<string, Group>();
  /** Identifiers of groups, by number: most products name the same few. */
  readonly #groupIds: string[] = [];
  readonly #groupNumbers = new Map<string, number>();
  readonly #memberships = new Map<string, number | number[]>();
  #membershipCount = 0;
  #characters = 0;
  #catalogLanguage: string | undefined;
  #currency = '';
  #mimeRoot = '';

  constructor(language?: string) {
    this.#wantedLanguage = language?.toLowerCase();
  }

  static isWanted(name: string): boolean {
    return name === 'HEADER' || name === 'CATALOG_STRUCTURE' || name.endsWith('_TO_CATALOGGROUP_MAP');
  }

  /** @throws FormatProblem too_large */
  take(element: XmlElement): void {
    if (element.name === 'HEADER') this.#takeHeader(element);
    else if (element.name === 'CATALOG_STRUCTURE') this.#takeGroup(element);
    else this.#takeMembership(element);
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

  /** Of elements that stand once for each language only those in the wanted one, or in the one that stands first. */
  inLanguage(elements: readonly XmlElement[]): readonly XmlElement[] {
    if (!elements.some(({ attributes }) => attributes.has('lang'))) return elements;
    const wanted = this.#wantedLanguage ?? this.#catalogLanguage;
    const chosen = new Map<string, string>();
    for (const element of elements) {
      const language = languageOf(element);
      if (language === '') continue;
      if (!chosen.has(element.name) || language === wanted) chosen.set(element.name, language);
    }
    return elements.filter((element) => {
      const language = languageOf(element);
      return language === '' || language === chosen.get(element.name);
    });
  }

  #takeHeader(header: XmlElement): void {
    const catalog = header.children.find(({ name }) => name === 'CATALOG');
    const languages = (catalog?.children ?? []).filter(({ name }) => name === 'LANGUAGE');
    const main = languages.find(({ attributes }) => attributes.get('default') === 'true') ?? languages[0];
    this.#catalogLanguage = main?.text.toLowerCase();
    this.#currency = this.#textOf(catalog, 'CURRENCY');
    this.#mimeRoot = this.#textOf(catalog, 'MIME_ROOT');
  }

  #takeGroup(element: XmlElement): void {
    const id = this.#keep(this.#textOf(element, 'GROUP_ID'));
    const parent = this.#keep(this.#textOf(element, 'PARENT_ID'));
    const name = this.#keep(this.#textOf(element, 'GROUP_NAME'));
    this.#groups.set(id, { name, parent, isRoot: element.attributes.get('type') === 'root' });
    if (this.#groups.size > GROUPS) throw tooMany(`${GROUPS.toLocaleString('en')} groups`);
  }

  #takeMembership(element: XmlElement): void {
    const product = this.#textOf(element, 'ART_ID') || this.#textOf(element, 'PROD_ID');
    const group = this.#numberOf(this.#textOf(element, 'CATALOG_GROUP_ID'));
    const present = this.#memberships.get(product);
    this.#membershipCount += 1;
    if (this.#membershipCount > MEMBERSHIPS) throw tooMany(`${MEMBERSHIPS.toLocaleString('en')} memberships`);
    if (present === undefined) this.#memberships.set(this.#keep(product), group);
    else if (typeof present === 'number') this.#memberships.set(product, [present, group]);
    else if (present.length <= GROUPS_OF_PRODUCT) present.push(group);
  }

  #numberOf(groupId: string): number {
    const known = this.#groupNumbers.get(groupId);
    if (known !== undefined) return known;
    const kept = this.#keep(groupId);
    this.#groupNumbers.set(kept, this.#groupIds.length);
    return this.#groupIds.push(kept) - 1;
  }

  #keep(text: string): string {
    this.#characters += text.length;
    if (this.#characters > CHARACTERS)
      throw tooMany(`${CHARACTERS.toLocaleString('en')} characters of names`);
    return copyText(text);
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

const languageOf = ({ attributes }: XmlElement): string => (attributes.get('lang') ?? '').toLowerCase();

function tooMany(what: string): FormatProblem {
  return new FormatProblem('too_large', `The catalog has more than ${what}`);
}
