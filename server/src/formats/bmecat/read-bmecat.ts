import {
  type Columns,
  type ColumnValue,
  cutChunks,
  decodeText,
  defineInputFormat,
  FormatProblem,
  type FormatReading,
  languageOption,
  type ReadingNotes,
  RowValues,
} from '../input/input.ts';
import { type ByteStream, openNamelessFile, readSpool, writeSpool } from '../streams/streams.ts';
import { readElements, readXmlRows, type XmlChoice, type XmlElement } from '../xml/read-xml.ts';
import { BmecatIndex, type Feature } from './bmecat-index.ts';

/** Separates the names of a category path. Within a name, the separator is written without its spaces. */
const CATEGORY_SEPARATOR = ' > ';

export const bmecat = defineInputFormat({
  type: 'bmecat',
  label: 'BMEcat',
  description:
    'a row is a product of BMEcat 1.01, 1.2 or 2005; columns have the names of 2005; features have their names and units; images and categories are columns too',
  options: {
    language: languageOption(
      'such as deu or de, for catalogs with texts in several languages; default: the language of the catalog',
    ),
  },
  /** Columns have the names of BMEcat 2005, even for catalogs of 1.2. */
  mapping: {
    identifier: 'SUPPLIER_PID',
    name: 'DESCRIPTION_SHORT',
    images: ['images'],
    categories: { from: 'categories', separator: CATEGORY_SEPARATOR },
    attributes: { Brand: 'MANUFACTURER_NAME', '*': '*' },
  },
  endings: [],
  open: (reading, { language }) => readBmecat(reading, language),
});

/**
 * Reads a catalog twice, because the groups of products follow the last product. The first pass also writes the catalog
 * to a file for the second. A DOCTYPE is common: it names the DTD of the standard and declares a supplier's additions.
 */
async function* readBmecat({ bytes, notes, tempDir }: FormatReading, language: string | undefined) {
  await using file = await openNamelessFile(tempDir);
  const index = await readIndex(writeSpool(cutChunks(bytes), file), notes, language);
  const choice: XmlChoice = {
    /**
     * Products are direct children of the transaction: T_NEW_CATALOG, T_UPDATE_PRODUCTS, T_UPDATE_PRICES,
     * T_NEW_PRODUCTDATA.
     */
    isChosen: (name, path) =>
      (name === 'ARTICLE' || name === 'PRODUCT') && path.length === 2 && path[1]?.startsWith('T_') === true,
    isDoctypeRead: true,
    noteUnread(path) {
      if (!ABOUT_CATALOG.test(path)) notes.noteUnread(path);
    },
  };
  const text = decodeText(readSpool(file), notes, { isMarkup: true });
  yield* readXmlRows(text, choice, (product) => ({ values: new ProductReader(index, notes).read(product) }));
}

async function readIndex(bytes: ByteStream, notes: ReadingNotes, language?: string) {
  const index = new BmecatIndex(language);
  let isCatalog = false;
  const isChosen: XmlChoice['isChosen'] = (name, path, attributes) => {
    if (path.length === 0) isCatalog = name === 'BMECAT';
    return path.length > 0 && index.isChosen(name, path, attributes);
  };
  for await (const elements of readElements(bytes, notes, { isChosen, isDoctypeRead: true }))
    for (const element of elements) index.take(element);
  if (!isCatalog) throw new FormatProblem('damaged', 'The file is XML, but it is not a BMEcat catalog');
  const languages = index.languages.describe();
  if (languages !== undefined) notes.found.language = languages;
  return index;
}

/** Elements that the index reads, and elements that only describe the catalog. */
const ABOUT_CATALOG =
  /^BMECAT\/(HEADER|T_\w+\/(CATALOG_GROUP_SYSTEM|CLASSIFICATION_SYSTEM|FEATURE_SYSTEM|\w+_TO_CATALOGGROUP_MAP))(\/|$)/;

const NO_FEATURE = { id: '', name: '', unit: '' };

/**
 * Elements of a product that are deliberately ignored: positions, names of groups, texts about files and references.
 */
const IGNORED = new Set([
  ...['FORDER', 'FT_ORDER', 'FT_DATATYPE', 'FVALUE_TYPE', 'MIME_ORDER', 'MIME_DESCR', 'MIME_ALT'],
  ...['FEATURE_GROUP_ID', 'FEATURE_GROUP_NAME', 'VORDER', 'REFERENCE_DESCR', 'CATALOG_ID', 'CATALOG_VERSION'],
]);

/** Reads an ARTICLE (1.2) or PRODUCT (2005) into columns. Both get the column names of 2005. */
class ProductReader {
  readonly #index: BmecatIndex;
  readonly #notes: ReadingNotes;
  readonly #values = new RowValues();
  /** Paths of classification groups, listed after those of the catalog's own groups. */
  readonly #classes: string[][] = [];
  /** Elements that supplied or determined a value, and elements in other languages. */
  readonly #read = new Set<XmlElement>();

  constructor(index: BmecatIndex, notes: ReadingNotes) {
    this.#index = index;
    this.#notes = notes;
  }

  read(product: XmlElement): Columns<ColumnValue> {
    const mode = product.attributes.get('mode');
    if (mode !== undefined) this.#values.add('mode', mode);
    for (const part of this.#inLanguage(product.children)) this.#readPart(part);
    const identifier = this.#values.values.SUPPLIER_PID;
    for (const path of this.#index.pathsOf(String(identifier ?? ''))) this.#addCategory(path);
    for (const path of this.#classes) this.#addCategory(path);
    this.#noteUnread(product, product.name);
    return this.#values.values;
  }

  #noteUnread(element: XmlElement, path: string): void {
    if (this.#read.has(element) || IGNORED.has(element.name)) return;
    if (element.text !== '') this.#notes.noteUnread(path);
    for (const child of element.children) this.#noteUnread(child, `${path}/${child.name}`);
  }

  #inLanguage(elements: readonly XmlElement[]): readonly XmlElement[] {
    const chosen = this.#index.languages.choose(elements);
    if (chosen.length < elements.length)
      for (const element of new Set(elements).difference(new Set(chosen))) this.#read.add(element);
    return chosen;
  }

  #textOf(parts: readonly XmlElement[], name: string): string {
    const part = parts.find((element) => element.name === name);
    if (part !== undefined) this.#read.add(part);
    return part?.text ?? '';
  }

  #readPart(part: XmlElement): void {
    const kind = part.name.replace(/^(ARTICLE|PRODUCT)_/, '');
    if (kind === 'FEATURES') this.#readFeatures(part);
    else if (kind === 'PRICE_DETAILS') for (const price of part.children) this.#readPrice(price);
    else if (kind === 'MIME_INFO') this.#readMimes(part);
    else if (kind === 'REFERENCE') this.#readReference(part);
    else this.#readLeaves(part);
  }

  /** The many small elements of the details are columns with their own names. */
  #readLeaves(element: XmlElement): void {
    if (element.children.length === 0) this.#addLeaf(element);
    for (const child of this.#inLanguage(element.children)) this.#readLeaves(child);
  }

  #addLeaf(leaf: XmlElement): void {
    const { name, attributes, text } = leaf;
    const isGtin = name === 'INTERNATIONAL_PID' && /^(ean|gtin)$/i.test(attributes.get('type') ?? '');
    this.#read.add(leaf);
    if (text !== '') this.#values.add(isGtin ? 'EAN' : toNameOf2005(name), text, name === 'KEYWORD');
  }

  #readFeatures(features: XmlElement): void {
    for (const part of this.#inLanguage(features.children)) {
      if (part.name === 'FEATURE') this.#readFeature(part);
      else if (part.name === 'FEATURE_GROUP') this.#readFeatures(part);
      else if (part.children.length === 0 && !IGNORED.has(part.name)) this.#addOnce(part.name, part);
    }
    const system = this.#textOf(features.children, 'REFERENCE_FEATURE_SYSTEM_NAME');
    const groups = features.children.filter(({ name }) => name === 'REFERENCE_FEATURE_GROUP_ID');
    for (const { text } of groups) this.#classes.push(...this.#index.pathsOfClass(system, text));
  }

  #readFeature(feature: XmlElement): void {
    const parts = this.#inLanguage(feature.children);
    const { name, unit } = this.#describeFeature(parts);
    const column = OWN_NAMES.test(name) ? `FEATURE.${name}` : name;
    for (const [value, element] of this.#featureValues(parts))
      this.#addOnce(column, element, unit === '' || value === '' ? value : `${value} ${unit}`);
  }

  /**
   * The name and unit of a feature are in the feature itself, in a template within it, or in a template of its
   * classification.
   */
  #describeFeature(parts: readonly XmlElement[]): Pick<Feature, 'name' | 'unit'> {
    const template = parts.find(({ name }) => name === 'FTEMPLATE');
    if (template !== undefined) this.#markTemplate(template);
    const own = template === undefined ? NO_FEATURE : this.#index.readTemplate(template);
    const id = this.#textOf(parts, 'FT_IDREF') || own.id;
    const indexed = this.#index.features.get(id) ?? NO_FEATURE;
    return {
      name: this.#textOf(parts, 'FNAME') || own.name || indexed.name || id || 'FEATURE',
      unit: this.#textOf(parts, 'FUNIT') || own.unit || indexed.unit,
    };
  }

  #markTemplate(element: XmlElement): void {
    if (/^FT_(ID|NAME|SHORTNAME|UNIT)$/.test(element.name)) this.#read.add(element);
    for (const child of element.children) this.#markTemplate(child);
  }

  /**
   * In 1.2, several values are written as variants. The details explain a value number that the catalog does not name.
   */
  #featureValues(parts: readonly XmlElement[]): [value: string, element: XmlElement][] {
    const variants = parts
      .filter(({ name }) => name === 'VARIANTS')
      .flatMap(({ children }) => children)
      .flatMap(({ children }) => this.#inLanguage(children));
    const all = [...parts, ...variants];
    const details = all.filter(({ name, text }) => name === 'FVALUE_DETAILS' && text !== '');
    const values = all.filter(({ name, text }) => text !== '' && /^(FVALUE|VALUE_IDREF)$/.test(name));
    return values.map((element, index) => [this.#nameValue(element, details[index]), element]);
  }

  #nameValue({ name, text }: XmlElement, detail: XmlElement | undefined): string {
    if (name !== 'VALUE_IDREF' && !VALUE_NUMBER.test(text)) return text;
    if (detail !== undefined) this.#read.add(detail);
    const valueName = this.#index.nameOfValue(text);
    return valueName === text ? (detail?.text ?? text) : valueName;
  }

  /** Two classifications of a product often name the same feature. */
  #addOnce(column: string, element: XmlElement, value = element.text): void {
    this.#read.add(element);
    const present = [this.#values.values[column] ?? []].flat();
    if (value !== '' && !present.includes(value)) this.#values.add(column, value);
  }

  #readPrice({ attributes, children }: XmlElement): void {
    const amount = this.#textOf(children, 'PRICE_AMOUNT');
    if (amount === '') return;
    const currency = this.#textOf(children, 'PRICE_CURRENCY') || this.#index.currency;
    const bound = this.#textOf(children, 'LOWER_BOUND');
    const isForOne = bound === '' || Number(bound) <= 1;
    const name = ['PRICE', attributes.get('price_type') ?? '', isForOne ? '' : bound];
    const value = currency === '' ? amount : `${amount} ${currency}`;
    this.#values.add(name.filter((part) => part !== '').join('.'), value);
    for (const part of children) if (OF_PRICE.has(part.name)) this.#addOnce(part.name, part);
  }

  #readMimes(mimes: XmlElement): void {
    const order = ({ children }: XmlElement) => Number(this.#textOf(children, 'MIME_ORDER')) || 0;
    for (const { children } of mimes.children.toSorted((a, b) => order(a) - order(b))) {
      const parts = this.#inLanguage(children);
      const source = this.#textOf(parts, 'MIME_SOURCE');
      if (source === '') continue;
      const purpose = this.#textOf(parts, 'MIME_PURPOSE').toLowerCase();
      const isPictured = isPicture(this.#textOf(parts, 'MIME_TYPE'), source);
      const column =
        isPictured && !NO_PRODUCT_PICTURES.has(purpose) ? 'images' : `MIME.${purpose || 'others'}`;
      this.#values.add(column, this.#index.addressOf(source), true);
    }
  }

  #readReference({ attributes, children }: XmlElement): void {
    const target = this.#textOf(children, 'PROD_ID_TO') || this.#textOf(children, 'ART_ID_TO');
    if (target !== '') this.#values.add(`REFERENCE.${attributes.get('type') ?? 'others'}`, target, true);
  }

  #addCategory(path: readonly string[]): void {
    const names = path.map((name) => name.replaceAll(CATEGORY_SEPARATOR, '>'));
    this.#values.add('categories', names.join(CATEGORY_SEPARATOR), true);
  }
}

/** The numbers of values in ETIM and in ECLASS. */
const VALUE_NUMBER = /^(EV\d{6}|0173-1#07-[A-Z]{3}\d{3}#\d{3})$/;
/** Parts of a price besides its amount. */
const OF_PRICE = new Set(['TAX', 'TERRITORY', 'PRICE_FACTOR']);

/** The purposes of preview sizes, and of logos of the manufacturer. */
const NO_PRODUCT_PICTURES = new Set(['thumbnail', 'logo', 'icon']);

function isPicture(type: string, source: string): boolean {
  return type === ''
    ? /\.(jpe?g|png|gif|webp|tiff?|svg|bmp)$/i.test(source)
    : /^(image\/|jpe?g$|png$|gif$)/i.test(type);
}

/** Since 2005, SUPPLIER_AID is called SUPPLIER_PID, and ARTICLE_STATUS is called PRODUCT_STATUS. */
function toNameOf2005(name: string): string {
  const renamed = name.endsWith('_AID') ? `${name.slice(0, -4)}_PID` : name;
  return renamed.startsWith('ARTICLE_') ? `PRODUCT_${renamed.slice(8)}` : renamed;
}

/** Names of columns that products have anyway. A feature with such a name becomes the column `FEATURE.<name>`. */
const OWN_NAMES =
  /^(mode|images|categories|EAN|SUPPLIER_PID|KEYWORD|REMARKS)$|^(DESCRIPTION_|MANUFACTURER_|PRICE\.|MIME\.|REFERENCE\.)/;
