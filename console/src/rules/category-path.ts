import type { AttributeCoverage } from '@relata/client';

/** A name that would not be read as it is: it stands in quotes, as JSON. */
const UNREADABLE = /^[\s"]|>|\s$/;
const PART = /\s*("(?:[^"\\]|\\.)*"(?=\s*(?:>|$))|[^>]*)(?:\s*>|\s*$)/gy;

/** `Tools > Drills` as the path that the service takes; a name in quotes may hold what it likes. */
export function readPath(text: string): string[] {
  const parts = [...text.matchAll(PART)].map(([, part = '']) => part.trim());
  return parts.map(readName).filter((name) => name !== '');
}

function readName(part: string): string {
  if (!part.startsWith('"')) return part;
  try {
    return String(JSON.parse(part));
  } catch {
    // A name that happens to begin with a quote.
    return part;
  }
}

/** As `readPath` reads it. */
export const writePath = (path: readonly string[]): string =>
  path.map((name) => (UNREADABLE.test(name) ? JSON.stringify(name) : name)).join(' > ');

/** An attribute that products of a category have, and how many. */
export interface CoveredAttribute {
  readonly name: string;
  /** 1: all of them have a fact of it. */
  readonly share: number;
  readonly withoutFact: number;
}

/** @returns what at least one of the products has a value of, the worst covered first; others do not belong to them */
export const listWorstFirst = (
  attributes: readonly Pick<AttributeCoverage, 'name' | 'withFact' | 'withValue'>[],
  products: number,
): readonly CoveredAttribute[] =>
  attributes
    .filter(({ withValue }) => withValue > 0)
    .map(({ name, withFact }) => ({ name, share: withFact / products, withoutFact: products - withFact }))
    .sort((a, b) => a.share - b.share || (a.name < b.name ? -1 : 1));
