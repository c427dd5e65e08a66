import type { Token } from 'stream-json/core/parser.js';
import { FormatProblem, LIMITS } from '../input/input.ts';
import { type Container, follow, JsonTokenizer, pathBelow, VALUES } from './json-tokens.ts';

/** A list of objects, and the keys of its elements except keys in nested lists of objects. */
interface ListSample {
  readonly path: string;
  /** Paths of the lists that contain this list. */
  readonly within: readonly string[];
  readonly keys: Set<string>;
}

/** Names of lists of products, then the keys of identifiers, of names, and of values that only products have. */
const LIST_NAME = /^(?:products?|produkte?|articles?|artikel|items?|skus?|goods)$/i;
const KEYS = [
  /^id$|sku$|identifier$|(?:gtin|ean)\d*$|(?:product|produkt|article|artikel|item|part)_?-?(?:number|nummer|nr|no|id|code)$/i,
  /(?:name|title|titel|bezeichnung|description)$/i,
  /price|preis|gtin|ean$|sku|brand|marke|stock|image|bild|categor|kategorie/i,
];

const countKinds = ({ keys }: ListSample, kinds: readonly RegExp[]) =>
  kinds.filter((kind) => [...keys].some((key) => kind.test(key))).length;

const hasListName = ({ path }: ListSample) => LIST_NAME.test(path.split('.').at(-1) ?? '');

/** Scores how much a list looks like products, by its name and then by the keys of its elements. */
const weighList = (list: ListSample) =>
  (hasListName(list) ? 30 : 0) + 10 * countKinds(list, KEYS) + Math.min(list.keys.size, 9);

/**
 * Chooses a list at the root whatever it contains, so that an element that is not an object is reported. A list within
 * elements that have an identifier and a name belongs to those elements, like variants, unless its name is one of
 * products.
 * @returns the path of the list whose elements look most like products; undefined if the text begins with no list
 */
export function findList(pieces: readonly string[]): string | undefined {
  const lists = sampleLists(pieces);
  const isProduct = (path: string) => countKinds(lists.get(path) as ListSample, KEYS.slice(0, 2)) === 2;
  if (lists.has('')) return '';
  const possible = [...lists.values()].filter((list) => hasListName(list) || !list.within.some(isProduct));
  const weights = possible.map(weighList);
  return possible[weights.indexOf(Math.max(...weights))]?.path;
}

/** @returns the lists of objects by path, in a text that may be cut off anywhere */
function sampleLists(pieces: readonly string[]): ReadonlyMap<string, ListSample> {
  const lists = new Map<string, ListSample>();
  const open: Container[] = [];
  const tokenizer = new JsonTokenizer();
  const findLists = () => open.flatMap(({ isArray, path }) => (isArray && lists.has(path) ? path : []));

  const noteKey = (key: string) => lists.get(findLists().at(-1) ?? '')?.keys.add(key);

  function take(token: Token): void {
    const holder = open.at(-1);
    const opened = follow(open, token);
    if (VALUES.has(token.name)) noteKey(pathBelow(holder).split('.').at(-1) ?? '');
    if (opened === undefined || lists.has(opened.path) || lists.size >= LIMITS.columns) return;
    const isOfObjects = opened.isArray ? holder === undefined : holder?.isArray === true;
    if (isOfObjects) lists.set(opened.path, { path: opened.path, within: findLists(), keys: new Set() });
  }

  try {
    for (const piece of pieces) for (const token of tokenizer.push(piece)) take(token);
  } catch (error) {
    // The reader reads the text again and reports what is wrong with it.
    if (!(error instanceof FormatProblem)) throw error;
  }
  return lists;
}
