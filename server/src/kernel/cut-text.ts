/**
 * An unpaired surrogate in JSON makes strict readers, such as that of PHP, refuse the whole of it: nothing is cut inside a
 * pair, and what was sent without its other half is U+FFFD.
 * @returns the first characters of a text, counted as the schemas count them
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text.toWellFormed();
  // No character takes more than two units.
  const characters = [...text.slice(0, 2 * most)];
  return characters.slice(0, most).join('').toWellFormed();
}
