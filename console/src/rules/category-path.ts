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
