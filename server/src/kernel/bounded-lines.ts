/**
 * A lone surrogate in JSON makes strict readers, such as PHP's, refuse all of it: nothing is cut inside a
 * pair, and a lone one that was sent becomes U+FFFD.
 * @returns the first characters of a text, counted as in schemas
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // No character takes more than two units.
  const characters = [...text.slice(0, 2 * most)];
  return characters.slice(0, most).join('').toWellFormed();
}

/** A value quoted in a line may be as long as a body. */
const LINE_CHARACTERS = 1_000;

/**
 * @param bytes the most in all, as JSON in UTF-8
 * @returns the lines within the bounds, each truncated, and how many more there are
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
  const rest = lines.length - shown.length;
  return rest > 0 ? [...shown, `and ${rest} more`] : shown;
}

export const countBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
