import { type Static, Type } from 'typebox';
import { countEach } from '../../../kernel/count-each.ts';
import { compileNumber, type NumberFormat } from '../mapping-columns.ts';

export const isUrl = (text: string) => /^https?:\/\/[^\s/]/i.test(text);

export const isImageUrl = (text: string): boolean =>
  isUrl(text) && /\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?)([?#\s,;|]|$)/i.test(text);

/** An image file name, with or without an address before it. */
export const isImageFile = (text: string): boolean =>
  /^[^\s,;|]{1,2000}\.(jpe?g|png|gif|webp|avif|svg|bmp|tiff?)(\?[^\s,;|]{0,2000})?$/i.test(text);

/** @returns the separator of several images in a cell */
export function findImageSplit(values: readonly string[]): string | undefined {
  const isImage = (part: string) => isUrl(part.trim()) || isImageFile(part.trim());
  return [',', '|', ';', '\n', ' '].find((sign) =>
    values.some((value) => value.includes(sign) && value.split(sign).every(isImage)),
  );
}

/** @returns the separator of a list of words, such as `red, blue`; undefined if a cell is a single text */
export function findListSplit(values: readonly string[]): string | undefined {
  const countOf = (sign: string) => values.filter((value) => value.includes(sign)).length;
  return ['|', ';', ','].find((sign) => countOf(sign) * 4 >= values.length);
}

/** A number with an optional currency or short unit: `19.90 EUR`, `€ 5`, `1.299,00`. */
export const isAmount = (text: string): boolean =>
  text.length <= 40 &&
  /^(\p{Sc}|[A-Z]{3} )?\s?[-+]?\d[\d.,']*\s?(\p{Sc}|%|[°"]|\p{L}{1,4})?$/u.test(text.trim());

/** A number such as `19.9`. Products are seldom numbered like this. */
export const isFraction = (text: string): boolean => /^-?\d{1,15}[.,]\d{1,6}$/.test(text);

export const isDate = (text: string): boolean =>
  /^(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})/.test(text);

const comma = compileNumber({ decimal: 'comma' });
const point = compileNumber({ decimal: 'point' });

/**
 * @returns the format of numbers with a decimal comma or with groups; undefined if the numbers can stay unchanged, or
 * if a value is not a number of the format
 */
export function findNumberFormat(values: readonly string[]): NumberFormat | undefined {
  const isComma =
    values.some((value) => /\d,\d{1,2}$|\d,\d{4,}$/.test(value)) &&
    values.every((value) => comma(value) !== undefined);
  if (isComma) return { decimal: 'comma' };
  const isGrouped = values.some((value) => /\d[,' \u00a0\u202f]\d{3}\.\d/.test(value));
  return isGrouped && values.every((value) => point(value) !== undefined) ? { decimal: 'point' } : undefined;
}

/** Evidence that the cells of a column contain several values. */
export interface ListEvidence {
  /** The separator of the values. */
  readonly separator: string;
  /** The number of different values. */
  readonly values: number;
}

/** How reliable each separator is. A comma also occurs in texts and numbers, so its parts must recur in other cells. */
export const LIST_SIGNS = [
  { separator: '|', cells: 2, reused: 0 },
  { separator: '\n', cells: 2, reused: 0.2 },
  { separator: ';', cells: 2, reused: 0.3 },
  { separator: ',', cells: 3, reused: 0.5 },
] as const;
/** Limits of a value in a list. Longer values are sentences. */
const PART_LENGTH = 60;
const PART_WORDS = 5;
/** The least share of cells that contain the separator. */
const SHARE = 0.05;

const splitCell = (cell: string, separator: string): string[] => {
  const parts = cell.split(separator).map((part) => part.trim());
  return parts.at(-1) === '' ? parts.slice(0, -1) : parts;
};

const isPart = (part: string) =>
  part !== '' &&
  part.length <= PART_LENGTH &&
  part.split(/\s+/).length <= PART_WORDS &&
  !/[<>{}=]|&\w+$/.test(part);

/** Whether commas only occur within numbers, as in `10,5 kg` or `1,5 x 2 cm`. `36,37,38` are three numbers. */
const isDecimal = (cell: string) => !/(?<!\d),|,(?!\d)/.test(cell) && !/^\d+(,\d+){2,}$/.test(cell.trim());

/** @returns undefined if the cells appear to be single values */
export function findList(cells: readonly string[]): ListEvidence | undefined {
  if (cells.some(isUrl) || findNumberFormat(cells) !== undefined) return undefined;
  for (const sign of LIST_SIGNS) {
    if (sign.separator === ',' && cells.every(isDecimal)) continue;
    const values = countListed(cells, sign);
    if (values > 0) return { separator: sign.separator, values };
  }
  return undefined;
}

/** The forms of addresses and file names. If an address contains a comma, its parts are not addresses. */
const PICTURES = [/^https?:\/\/\S+$/i, /^\S.*\.(?:jpe?g|png|gif|webp|avif|svg)$/i];

/** Finds addresses and file names of pictures. They do not have to recur. @returns undefined if no cell has several */
export function findPictures(cells: readonly string[]): ListEvidence | undefined {
  for (const { separator } of LIST_SIGNS) {
    const all = cells.map((cell) => splitCell(cell, separator));
    const areAll = PICTURES.some((picture) => all.flat().every((part) => picture.test(part)));
    if (areAll && all.some(({ length }) => length > 1))
      return { separator, values: new Set(all.flat()).size };
  }
  return undefined;
}

/** @returns the number of different values that the cells list with a separator; 0 if it is not a separator */
function countListed(
  cells: readonly string[],
  { separator, cells: least, reused }: (typeof LIST_SIGNS)[number],
): number {
  const all = cells.map((cell) => splitCell(cell, separator));
  const several = all.filter(({ length }) => length > 1);
  const listed = several.flat();
  if (several.length < Math.max(least, SHARE * cells.length) || !listed.every(isPart)) return 0;
  const counts = countEach(all.flat());
  const again = listed.filter((part) => (counts.get(part) ?? 0) > 1).length;
  return again >= reused * listed.length ? counts.size : 0;
}

export const describeList = ({ values, separator }: ListEvidence): string =>
  `the column contains ${values} different values, separated by ${separator === '\n' ? 'line breaks' : separator}`;

/** `by` states whether the format, the name of the column or its contents determined the choice. */
export const SuggestionReason = Type.Object({
  field: Type.String(),
  column: Type.String(),
  by: Type.Enum(['format', 'name', 'values']),
  confidence: Type.Enum(['high', 'medium', 'low'], {
    description: 'low: check it before you import',
  }),
  reason: Type.String({ description: 'the reason, in words' }),
});
export type SuggestionReason = Static<typeof SuggestionReason>;

export type SuggestedField =
  | 'identifier'
  | 'groupIdentifier'
  | 'name'
  | 'productUrl'
  | 'images'
  | 'categories'
  | 'brand';

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * Names that columns have in exports, the most certain first. They have only letters and digits, in lower case. They
 * come from common feeds, and from German and English shop and ERP systems. Names that formats map by default are not
 * listed.
 */
export const COLUMN_NAMES: Readonly<Record<SuggestedField, readonly string[]>> = {
  identifier: words(`
    identifier sku productsku variantsku artikelnummer artikelnr artnr artno articlenumber articleno
    articleid itemnumber itemno itemid itemcode supplierpid supplieraid bestellnummer bestellnr
    produktnummer produktnr productnumber productno productcode productid produktid artikelid
    materialnummer materialnumber partnumber partno teilenummer mpn id gid ean gtin barcode code nummer
    number key
  `),
  groupIdentifier: words(`
    groupidentifier itemgroupid groupid gruppenid gruppennummer variantgroup variantengruppe parentsku
    parentidentifier parentid parent parentproduct mastersku masterid master vaterartikel
    vaterartikelnummer elternartikel hauptartikel hauptartikelnummer stammartikel stammartikelnummer
    handle stylecode styleid modelnumber modellnummer group gruppe
  `),
  name: words(`
    name title productname producttitle articlename itemname produktname produkttitel artikelname
    artikelbezeichnung produktbezeichnung bezeichnung titel descriptionshort shortdescription
    kurzbezeichnung kurzbeschreibung kurztext benennung label displayname
  `),
  productUrl: words(`
    producturl productlink deeplink link url produkturl produktlink artikelurl artikellink shopurl
    detailurl canonicalurl permalink href webseite
  `),
  images: words(`
    image images imageurl imageurls imagelink imagelinks imagesrc img imgurl mainimage baseimage
    additionalimage additionalimages additionalimagelink additionalimagelinks picture pictures
    pictureurl photo photos photourl thumbnail thumbnailurl thumb smallimage bild bilder bildurl
    bildurls bildlink hauptbild produktbild produktbilder artikelbild artikelbilder weiterebilder
    zusatzbild zusatzbilder vorschaubild foto fotos fotourl
  `),
  categories: words(`
    categorypath categories category kategoriepfad kategorien kategorie producttype producttypes
    productcategory productcategories produktkategorie warengruppe warengruppen breadcrumb breadcrumbs
    rubrik sortiment produktgruppe productgroup taxonomy googleproductcategory department abteilung type
    typ
  `),
  brand: words(`
    brand marke brandname markenname manufacturername manufacturer hersteller herstellername vendor
    fabrikat
  `),
};

/** Columns that contain amounts of money. */
export const PRICE_NAME = /price|preis|prix|precio|prezzo|cost\b|\bcost|uvp|msrp|rrp/i;
/** Columns that contain a list of words in one cell. The names have only letters and digits. */
export const LIST_NAMES = new Set(
  words(`
    tags tag producttags keywords metakeywords searchkeywords labels schlagworte schlagwoerter
    stichworte stichwoerter suchbegriffe
  `),
);

/** Separators of the levels of a path, the most certain first. The last four also occur in names. */
const LEVEL_SIGNS = ['>', '»', '→', '::', '\\', '|', '/', ';'];
const IN_NAMES = new Set(['|', '/', ';']);
/** Separators of paths, if another character separates the levels. */
const PATH_SIGNS = ['\n', '||', '|', ';', ',', '#'];
/** In `Hoodies &amp; Sweatshirts`, the semicolon of the entity is not a separator. */
const ENTITY = /&(?:[a-z]{2,8}|#\d{1,6});/gi;

interface PathFormat extends Pick<SuggestionReason, 'confidence' | 'reason'> {
  readonly separator?: string;
  readonly split?: string;
}

/** @returns how the cells of a column of categories are written, as far as the cells show it */
export function findPathFormat(cells: readonly string[]): PathFormat {
  const values = cells.map((cell) => cell.replace(ENTITY, '&'));
  const sign = findLevelSign(values);
  if (sign === undefined) return describeFlat(values);
  const split = PATH_SIGNS.find((between) => between !== sign && separatesPaths(values, sign, between));
  const separator = withSpaces(values, sign);
  const paths = values.flatMap((value) => (split === undefined ? value : value.split(split)));
  const format = { separator, ...(split !== undefined && { split }) };
  const tops = new Set(paths.map((path) => topOf(path, separator)));
  const isTree = tops.size * 2 <= new Set(paths).size;
  const doubt = `${show(sign)} may be part of the names, because few paths have the same top`;
  if (IN_NAMES.has(sign) && !isTree) return { ...format, confidence: 'low', reason: doubt };
  const loose = split === undefined ? findLooseSign(values, sign) : undefined;
  if (loose !== undefined)
    return { ...format, confidence: 'low', reason: `${show(loose)} may separate several paths` };
  const between = split === undefined ? '' : `, ${show(split)} separates paths`;
  return { ...format, confidence: 'high', reason: `${show(separator)} separates levels${between}` };
}

/** Describes flat categories. A character that may be a separator makes the result uncertain. */
function describeFlat(values: readonly string[]): PathFormat {
  const list = findList(values);
  if (list !== undefined) return { split: list.separator, confidence: 'medium', reason: describeList(list) };
  const sign = LEVEL_SIGNS.find((candidate) => values.some((value) => value.includes(candidate)));
  if (sign === undefined) return { confidence: 'high', reason: 'each value is one category' };
  return { confidence: 'low', reason: `${show(sign)} is treated as part of the names` };
}

function findLevelSign(values: readonly string[]): string | undefined {
  const countOf = (sign: string) => values.filter((value) => value.includes(sign)).length;
  const counts = LEVEL_SIGNS.map((sign) => ({ sign, count: countOf(sign) }));
  const most = Math.max(0, ...counts.map(({ count }) => count));
  const candidate = counts.find(({ count }) => count > 0 && count * 2 >= most);
  if (candidate === undefined || !IN_NAMES.has(candidate.sign)) return candidate?.sign;
  return candidate.count * 2 > values.length || sharesTops(values, candidate.sign)
    ? candidate.sign
    : undefined;
}

/** A character that also occurs in names separates levels if several values begin with the same top. */
function sharesTops(values: readonly string[], sign: string): boolean {
  const distinct = [...new Set(values)].filter((value) => value.includes(sign));
  return new Set(distinct.map((value) => topOf(value, sign))).size < distinct.length;
}

const topOf = (path: string, separator: string): string => path.split(separator, 1)[0]?.trim() ?? '';

/**
 * Whether a cell has several parts, and each part begins like a path: with a top that another cell begins with, or with
 * its own levels. Neither is true after the comma of `Nuts, bolts`.
 */
function separatesPaths(values: readonly string[], sign: string, between: string): boolean {
  const several = values.filter((value) => value.includes(between));
  const tops = new Set(values.map((value) => topOf(value.split(between, 1)[0] ?? '', sign)));
  // In `Tops, Tees/Shirts`, the text after a comma with a space is more likely the rest of a name than a new top.
  const isContinued = (part: string) => between === ',' && part.startsWith(' ');
  const isPath = (part: string) => tops.has(topOf(part, sign)) || (part.includes(sign) && !isContinued(part));
  return several.length > 0 && several.every((value) => value.split(between).slice(1).every(isPath));
}

/** Finds a character that would separate paths in some cells but not in others. */
function findLooseSign(values: readonly string[], sign: string): string | undefined {
  const tops = new Set(values.map((value) => topOf(value, sign)));
  const isTop = (part: string) => tops.has(topOf(part, sign));
  return PATH_SIGNS.filter((between) => between !== sign).find((between) =>
    values.some((value) => value.split(between).slice(1).some(isTop)),
  );
}

/** A name may contain the separator without spaces, such as `TV/HiFi / Audio`. */
function withSpaces(values: readonly string[], sign: string): string {
  const spaced = ` ${sign} `;
  const all = values.filter((value) => value.includes(sign));
  const isSpaced = (value: string) => value.includes(spaced);
  return (IN_NAMES.has(sign) ? all.some(isSpaced) : all.every(isSpaced)) ? spaced : sign;
}

const show = (sign: string): string => JSON.stringify(sign);
