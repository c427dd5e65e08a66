/**
 * Truncates a text. Strict JSON parsers, such as PHP's, reject a document with a lone surrogate. So a surrogate pair is
 * never split, and a lone surrogate becomes U+FFFD.
 * @returns the first characters of the text, counted as JSON Schema counts them
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // No character has more than two UTF-16 code units.
  const characters = [...text.slice(0, 2 * most)];
  return characters.slice(0, most).join('').toWellFormed();
}

/** The limit of one line. A line may quote a value that is as long as a body. */
const LINE_CHARACTERS = 1_000;

/**
 * @param bytes the limit for all lines together, as JSON in UTF-8
 * @returns the lines within the limits, each truncated, and the number of omitted lines
 */
export function boundLines(lines: readonly string[], { most, bytes }: { most: number; bytes: number }) {
  const shown: string[] = [];
  let left = bytes;
  for (const line of lines.slice(0, most)) {
    const cut = cutText(line.trim(), LINE_CHARACTERS);
    left -= countBytes(cut);
    if (left < 0) break;
    shown.push(cut);
  }
  const omitted = lines.length - shown.length;
  return omitted > 0 ? [...shown, `and ${omitted} more`] : shown;
}

export const countBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
