import type { AttributeCoverage } from '@relata/client';

/** Names that have to be quoted, as JSON, to be read back unchanged. */
const UNREADABLE = /^[\s"]|>|\s$/;
const PART = /\s*("(?:[^"\\]|\\.)*"(?=\s*(?:>|$))|[^>]*)(?:\s*>|\s*$)/gy;

/** Reads `Tools > Drills` as a path for the service; a quoted name may contain any characters. */
export function readPath(text: string): string[] {
  const parts = [...text.matchAll(PART)].map(([, part = '']) => part.trim());
  return parts.map(readName).filter((name) => name !== '');
}

function readName(part: string): string {
  if (!part.startsWith('"')) return part;
  try {
    return String(JSON.parse(part));
  } catch {
    // A name that merely begins with a quote.
    return part;
  }
}

/** Writes a path so that `readPath` can read it. */
export const writePath = (path: readonly string[]): string =>
  path.map((name) => (UNREADABLE.test(name) ? JSON.stringify(name) : name)).join(' > ');

/** An attribute of a category's products, with its coverage. */
export interface CoveredAttribute {
  readonly name: string;
  /** 1 if all of them have a fact of it. */
  readonly share: number;
  readonly withoutFact: number;
}

/** @returns the attributes with a value on at least one product, with the lowest coverage first */
export const listWorstFirst = (
  attributes: readonly Pick<AttributeCoverage, 'name' | 'withFact' | 'withValue'>[],
  products: number,
): readonly CoveredAttribute[] =>
  attributes
    .filter(({ withValue }) => withValue > 0)
    .map(({ name, withFact }) => ({ name, share: withFact / products, withoutFact: products - withFact }))
    .sort((a, b) => a.share - b.share || (a.name < b.name ? -1 : 1));
