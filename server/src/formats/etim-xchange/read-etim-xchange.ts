import {
  defineInputFormat,
  languageOption,
  ReadingNotes,
  RowValues,
  readAfterPeek,
  type SourceRow,
  writePlainNumber,
} from '../input/input.ts';
import { readJson } from '../json/read-json.ts';
import {
  findUnitMember,
  isAmount,
  NAMED_LISTS,
  type NamedList,
  SILENT_LISTS,
  UNIT_WORDS,
} from './etim-names.ts';

/** Source: ETIM International, ETIM xChange guideline 2.0 of 2025-11-27. */
export const etimXchange = defineInputFormat({
  type: 'etim-xchange',
  label: 'ETIM xChange',
  description:
    'a row is a product of ETIM xChange 2.0; columns are dotted paths, features have their codes, measures and prices include their units, and objects of lists become rows',
  options: {
    language: languageOption(
      'such as en-GB, the language of the name and the address; default: that of the first description',
    ),
  },
  mapping: {
    identifier: 'ProductIdentification.ManufacturerProductNumber',
    name: 'name',
    productUrl: 'productUrl',
    images: ['images'],
    categories: { from: 'categories' },
    attributes: '*',
  },
  endings: [],
  open: ({ decode, notes }, { language }) =>
    readAfterPeek(decode(), HEAD_CHARACTERS, async function* (head, whole) {
      const currency = /"CurrencyCode"\s*:\s*"([A-Z]{3})"/.exec(head)?.[1] ?? '';
      const read = (row: SourceRow) =>
        row.problems === undefined ? new ProductReader(row, { language, currency }).read() : row;
      const own = new ReadingNotes((path) => !ABOUT_CATALOGUE.test(path) && notes.noteUnread(path));
      for await (const rows of readJson(whole, own, 'Supplier.Product')) yield rows.map(read);
    }),
});

/** Members of the head that describe the whole catalogue. */
const ABOUT_CATALOGUE =
  /^(?:SchemaVersion|Catalogue(?:Id|Name|Version|Type|ValidityStart|ValidityEnd)|ContractReferenceNumber|ChangeReferenceCatalogueVersion|GenerationDate|(?:Name|Email)DataCreator|Buyer(?:Name|IdGln|IdDuns)|Datapool(?:Name|Gln)|Country|Language|CurrencyCode|Supplier\.Supplier(?:Name|IdGln|IdDuns|VatNo))$|^CatalogueName\.|^CountrySpecificExtensions(?:\.|$)|^Supplier\.SupplierAttachments\./;

/** The head precedes the products and has a few hundred characters. */
const HEAD_CHARACTERS = 64 * 1024;

type Json = string | number | boolean | null | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectsOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** Where the members of an object belong: the prefix of their columns, and the row of the list that contains them. */
interface Position {
  readonly prefix: string;
  readonly row: number | undefined;
}

class ProductReader {
  readonly #values = new RowValues();
  readonly #row: SourceRow;
  readonly #options: { readonly language: string | undefined; readonly currency: string };

  constructor(row: SourceRow, options: { language: string | undefined; currency: string }) {
    this.#row = row;
    this.#options = options;
  }

  read(): SourceRow {
    const source = this.#row.source as JsonObject;
    this.#addShown(source);
    this.#addObject(source, { prefix: '', row: undefined });
    const { values, rows } = this.#values;
    return { ...this.#row, values, ...(rows && { rows }) };
  }

  /** Adds the fields that the service displays. The file also contains them under its own names. */
  #addShown({ ProductDetails, ProductAttachments, EtimClassification }: JsonObject): void {
    const descriptions = isObject(ProductDetails) ? objectsOf(ProductDetails.ProductDescriptions) : [];
    const { language } = this.#options;
    const chosen =
      descriptions.find((description) => description.DescriptionLanguage === language) ??
      descriptions[0] ??
      {};
    const name = chosen.UniqueMainProductDescription ?? chosen.MinimalProductDescription;
    this.#addScalars(name, { prefix: 'name', row: undefined });
    this.#addScalars(chosen.ProductPageUrl, { prefix: 'productUrl', row: undefined });
    for (const picture of listPictures(objectsOf(ProductAttachments)))
      this.#values.add('images', picture, true);
    for (const code of new Set(
      objectsOf(EtimClassification).map((classification) => textOf(classification.EtimClassCode)),
    ))
      this.#values.add('categories', code, true);
  }

  #addObject(object: JsonObject, { prefix, row }: Position, skipped: readonly string[] = []): void {
    const words = findWords(object);
    for (const [name, value] of Object.entries(object)) {
      if (words.has(name) || skipped.includes(name)) continue;
      const position = { prefix: joinName(prefix, name), row };
      const elements = objectsOf(value);
      for (const element of elements) this.#addElement(name, element, { prefix, row });
      if (isObject(value)) this.#addObject(value, position);
      else if (elements.length === 0) this.#addScalars(value, position, this.#unitOf(name, words));
    }
  }

  #unitOf(name: string, words: ReadonlyMap<string, string>): string {
    return isAmount(name) ? this.#options.currency : (words.get(findUnitMember(name) ?? '') ?? '');
  }

  #addScalars(value: Json | undefined, { prefix, row }: Position, word = ''): void {
    const all = Array.isArray(value) ? value : [value];
    for (const scalar of all.filter((one) => one !== null && one !== undefined && one !== '')) {
      const text = typeof scalar === 'number' ? writePlainNumber(String(scalar)) : String(scalar).trim();
      const whole = word === '' ? text : `${text} ${word}`;
      if (row === undefined) this.#values.add(prefix, whole, Array.isArray(value));
      else this.#values.addInRow(prefix, whole, row);
    }
  }

  #addElement(list: string, element: JsonObject, { prefix, row }: Position): void {
    const silent = SILENT_LISTS[list];
    const behind = silent === undefined ? joinName(prefix, list) : prefix;
    const within = list === 'EtimFeatures' ? '' : behind;
    const named = NAMED_LISTS[list];
    if (named !== undefined && textOf(element[named.key]) !== '') {
      this.#addNamed(element, named, { prefix: within, row });
      return;
    }
    const position = { prefix: within, row: this.#values.beginRow() };
    if (silent) this.#addScalars(element[silent], position);
    this.#addObject(element, position, silent ? [silent] : []);
  }

  #addNamed(element: JsonObject, { key, values }: NamedList, { prefix, row }: Position): void {
    const position = { prefix: joinName(prefix, textOf(element[key])), row };
    const words = findWords(element);
    for (const name of values)
      this.#addScalars(element[name], position, words.get(findUnitMember(name) ?? ''));
    this.#addObject(element, position, [key, ...values]);
  }
}

/** @returns the symbols of the units of an object's measures, by the member that holds the unit */
function findWords(object: JsonObject): ReadonlyMap<string, string> {
  const units = new Set(Object.keys(object).map((name) => findUnitMember(name) ?? ''));
  return new Map(
    [...units].flatMap((unit): [string, string][] => {
      const code = textOf(object[unit]);
      const word = unit === 'ClassificationFeatureUnit' ? symbolOf(code) : UNIT_WORDS[code];
      return word ? [[unit, word]] : [];
    }),
  );
}

/** Lists the main picture first. */
const listPictures = (attachments: readonly JsonObject[]): string[] =>
  ['ATX015', 'ATX018']
    .flatMap((type) => attachments.filter(({ AttachmentType }) => AttachmentType === type))
    .flatMap(({ AttachmentDetails }) => objectsOf(AttachmentDetails))
    .map(({ AttachmentUri }) => textOf(AttachmentUri));

const joinName = (prefix: string, name: string): string => (prefix === '' ? name : `${prefix}.${name}`);

/** Returns `A` for `ampere (A)`, because measures use the symbol. */
const symbolOf = (unit: string): string =>
  /\((\S{1,12})\)$/.exec(unit)?.[1] ?? (/^[^\s\d]\S{0,11}$/.test(unit) ? unit : '');
