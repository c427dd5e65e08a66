import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type Attribute,
  groupsOf,
  isTruth,
  knownAliases,
  NUMBER_FORMS,
  type NumberForm,
  splitMeasure,
} from './attribute.ts';
import { isSameUnit, isUnit, nameUnit, type UnitAliases } from './units.ts';

/** Words for codes, in the languages that shops mostly use; numbers under such a key are text. */
const CODES = 'gtin|ean|upc|isbn|issn|mpn|sku|asin|pzn|jan|oem|id|barcode|strichcode|guid|uuid';
/** Names a number by itself, and with a thing on either side: `Referencia`, `número de referencia`, `référence produit`. */
const REFERENCE = 'reference|referencia|riferimento|referenz';
const THINGS = [
  'art|artikel|article|articulo|articolo|artigo|artykulu|sach|typ|item|product|produkt|produit|producto|prodotto|produto|produktu',
  'part|parte|czesci|reservedels|teil|ersatzteil|piece|pieza|peca|pezzo|onderdeel|model|modell|modele|modelo|modello',
  'hersteller|manufacturer|fabricant|fabricante|produttore|fabrikant|supplier|lieferanten',
  'bestell?|order|commande|serien|serie|serial|material|catalog|catalogue|catalogo|katalog|katalogowy|zolltarif|tariff',
  REFERENCE,
].join('|');
const NUMBERS = `nummer|nummern|number|numbers|numero|numeros|numer|num|nr|no|code|codes|codigo|codice|kod|ref|${REFERENCE}|key|schluessel|schlussel`;
const OF = '(?:de |do |da |di |del |della |dell |d )?';

const PATTERN = new RegExp(
  [
    `\\b(?:${CODES})s?\\d*\\b`,
    // `Herstellerartikelnummer`, `Teile-Nr`, and `Typ N°`, but not `Typ N`, which is a kind like `Typ K`.
    `\\b(?:(?:${THINGS})[es]?[ ]?){1,3}(?:${NUMBERS})\\b`,
    // `Número de pieza` names one thing; `número de piezas` is a count.
    `\\b(?:${NUMBERS}|n) ${OF}(?:l )?(?:${THINGS})\\b`,
    `^(?:${REFERENCE}|ref)$`,
  ].join('|'),
);

/** @returns whether an attribute with this name contains codes, such as GTIN, `Artikel-Nr.` and `numéro d'article` */
export function isCodeName(name: string): boolean {
  const words = name
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[łŁ]/g, 'l')
    // `Part #` is a number, `# Parts` a count.
    .replace(/#[^\p{L}\d]*$/u, ' nr')
    // `ArtikelNr` and `EANCode` are two words each; `IDs` is one.
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/gu, ' ')
    .toLowerCase()
    .replaceAll(/\bn[°º.]/g, 'nr ')
    .replaceAll(/[^\p{L}\d]+/gu, ' ');
  return PATTERN.test(words.trim());
}

/**
 * What all values of an attribute that the ontology does not know look like so far, each finding with the
 * first value that showed it. Source: docs/interface §11.2.
 */
export interface Observed {
  readonly first: string;
  readonly isBoolean: boolean;
  /** Units as spelled, '' for none. */
  readonly units: readonly (readonly [unit: string, value: string])[];
  /** By form, a value that is not a number in it. */
  readonly misfits: Readonly<Partial<Record<NumberForm, string>>>;
  /** A value that is a different number with a decimal point than with a decimal comma: 1.234. */
  readonly unclear?: string;
}

/** By attribute name. A Map, not an object: `__proto__` is a name like any other. */
export type Observations = ReadonlyMap<string, Observed>;

/** No exponent, no leading zeros: a number beyond doubt. */
const FORMS: Readonly<Record<NumberForm, RegExp>> = {
  plain: /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?$/,
  comma: new RegExp(`^[+-]?(?:0|[1-9]\\d*|${groupsOf('.')})(?:,\\d+)?$`),
  point: new RegExp(`^[+-]?(?:0|[1-9]\\d*|${groupsOf(',')})(?:\\.\\d+)?$`),
};
/** A word of up to 12 characters that does not begin with a digit. */
const UNIT = /^[^\d\s]\S{0,11}$/u;
/** A number with this many digits is a code, such as a GTIN. */
export const CODE_DIGITS = 12;
const SHOWN_LENGTH = 100;
/** More spellings than this do not belong to one unit. */
const UNITS = 8;

export function observeValue(value: string): Observed {
  const first = value.slice(0, SHOWN_LENGTH);
  const isBoolean = isTruth(value);
  const { number, unit = '' } = splitMeasure(value);
  const isMeasure = (unit === '' || UNIT.test(unit)) && countDigits(number) < CODE_DIGITS;
  const forms = isMeasure ? NUMBER_FORMS.filter((form) => FORMS[form].test(number)) : [];
  if (forms.length === 0) return { first, isBoolean, units: [], misfits: misfitAll(first) };
  const misfits = Object.fromEntries(
    NUMBER_FORMS.filter((form) => !forms.includes(form)).map((form) => [form, first]),
  );
  const isUnclear = number.includes('.') && forms.includes('plain') && forms.includes('comma');
  return { first, isBoolean, units: [[unit, first]], misfits, ...(isUnclear && { unclear: first }) };
}

const countDigits = (number: string) => number.replaceAll(/\D/g, '').length;
const misfitAll = (value: string) => ({ plain: value, comma: value, point: value });

/** @returns whether no further value can change anything */
export const isSurelyText = ({ misfits: { plain, comma, point }, isBoolean }: Observed): boolean =>
  !isBoolean && plain !== undefined && comma !== undefined && point !== undefined;

/** A property that both have holds for all. */
export function joinObserved(a: Observed | undefined, b: Observed): Observed {
  if (a === undefined) return b;
  const known = new Set(a.units.map(([unit]) => unit));
  const units = [...a.units, ...b.units.filter(([unit]) => !known.has(unit))];
  const other = findOtherUnit(units);
  // Values that were true or false so far are no numbers; that does not decide, but the first value that is neither does.
  const misfitsBefore = a.isBoolean && !b.isBoolean ? misfitAll(b.first) : a.misfits;
  const misfits = { ...(other === undefined ? b.misfits : misfitAll(other)), ...misfitsBefore };
  const unclear = misfits.comma === undefined ? (a.unclear ?? b.unclear) : undefined;
  return {
    first: a.first,
    isBoolean: a.isBoolean && b.isBoolean,
    units: units.slice(0, UNITS),
    misfits,
    ...(unclear !== undefined && { unclear }),
  };
}

/** @returns the value whose unit cannot be that of those before it */
function findOtherUnit(units: Observed['units']): string | undefined {
  if (units.length > UNITS) return units.at(-1)?.[1];
  const [first] = units;
  // A unit missing from the table may be a project's name for one in it.
  return units.find(([unit]) => first !== undefined && isApart(first[0], unit))?.[1];
}

const isApart = (a: string, b: string) =>
  a !== b && (a === '' || b === '' || (isUnit(a) && isUnit(b) && !isSameUnit(a, b)));

export function joinObservations(all: Iterable<Observations>): Map<string, Observed> {
  const joined = new Map<string, Observed>();
  for (const observations of all)
    for (const [name, observed] of observations) joined.set(name, joinObserved(joined.get(name), observed));
  return joined;
}

/** What decides besides the values. */
export interface DraftSettings {
  /** The locale of the project, as `de-DE`. */
  readonly locale: string;
  readonly unitAliases?: UnitAliases | undefined;
}

/** An attribute that a full update creates, and the value that decided. */
export interface DraftedAttribute extends Attribute {
  readonly decidedBy: string;
}

/** @returns the attribute that a full update creates for these values */
export function draftAttribute(
  { id, name }: Pick<Attribute, 'id' | 'name'>,
  observed: Observed,
  settings: DraftSettings,
): DraftedAttribute {
  return { id, name, ...judge(name, observed, settings) };
}

type Judged = Omit<DraftedAttribute, 'id' | 'name'>;

function judge(name: string, observed: Observed, settings: DraftSettings): Judged {
  const { first, isBoolean } = observed;
  if (isBoolean)
    return { type: 'BOOLEAN_ATTRIBUTE', reason: 'every value is true or false', decidedBy: first };
  // Numbers as programs write them, else as people with this locale do.
  const forms = ['plain', decimalOf(settings)] as const;
  const form = forms.find((one) => observed.misfits[one] === undefined);
  const { unitAliases } = settings;
  const other = observed.units.find(([unit]) => !isSameUnit(unit, observed.units[0]?.[0] ?? '', unitAliases));
  if (form === undefined) return describeText(observed, settings);
  if (other !== undefined)
    return asText(other[1], `${quote(other[1])} has another unit than ${quote(first)}`);
  if (isCodeName(name)) return asText(first, `the key is named like a code, and codes are no numbers`);
  const unitName = nameUnit(
    observed.units.map(([unit]) => unit),
    unitAliases,
  );
  return {
    type: 'NUMERIC_ATTRIBUTE',
    ...(unitName !== '' && { unitName, ...knownAliases(unitAliases) }),
    ...(form !== 'plain' && { decimal: form }),
    reason: describeNumeric(observed, form, unitName),
    decidedBy: first,
  };
}

/** @returns the decimal sign of a locale (CLDR) */
const decimalOf = ({ locale }: DraftSettings) =>
  new Intl.NumberFormat([locale, 'en']).format(0.5).includes(',') ? 'comma' : 'point';

const quote = (value: string) => JSON.stringify(value);

const WRITTEN: Readonly<Record<NumberForm, string>> = {
  plain: '',
  comma: ' with a decimal comma',
  point: ' with a decimal point',
};

function describeNumeric({ first, unclear }: Observed, form: NumberForm, unitName: string) {
  const unit = unitName === '' ? '' : `${form === 'plain' ? ' with' : ' and'} the unit ${unitName}`;
  const doubt =
    form === 'plain' && unclear !== undefined
      ? `; the point in ${quote(unclear)} was taken for a decimal one`
      : '';
  return `every value is a number${WRITTEN[form]}${unit}, such as ${quote(first)}${doubt}`;
}

function describeText({ misfits, units, first }: Observed, settings: DraftSettings): Judged {
  const value = misfits[decimalOf(settings)] ?? '';
  const other = units.find(([, example]) => example === value);
  const why =
    other !== undefined && other[1] !== first
      ? `${other[0] === '' ? 'has no unit, unlike' : 'has another unit than'} ${quote(first)}`
      : whyNoNumber(value, { notPlain: misfits.plain ?? '', first }, settings);
  return asText(value, `${quote(value)} ${why}`);
}

const asText = (decidedBy: string, reason: string): Judged => ({ type: 'TEXT_ATTRIBUTE', reason, decidedBy });

function whyNoNumber(
  value: string,
  { notPlain, first }: Record<'notPlain' | 'first', string>,
  { locale }: DraftSettings,
): string {
  const { number } = splitMeasure(value);
  if (/^[+-]?0\d/.test(number)) return 'begins with a zero, as codes do';
  if (/^[\d.,]+$/.test(number) && countDigits(number) >= CODE_DIGITS)
    return `has ${CODE_DIGITS} digits or more, as codes do`;
  if (isTruth(first)) return 'is neither true nor false';
  return value === notPlain
    ? `is not a number in ${locale}`
    : `and ${quote(notPlain)} are not numbers written in one way`;
}

/** @returns a line for the report of the task that creates the attribute */
export function describeCreated({ name, type, unitName, reason, decidedBy }: DraftedAttribute): ReportLine {
  const unit = unitName === undefined ? '' : ` with the unit ${unitName}`;
  const message = `created as ${type}${unit}: ${reason}`;
  return { code: 'attribute_created', attribute: name, value: decidedBy, message };
}

/** @returns the definition as text: facts made with equal ones are equal */
export const describeDefinition = ({ id, type, unitName, decimal }: Attribute): string =>
  `${id} ${type} ${unitName ?? ''} ${decimal ?? ''}`;
