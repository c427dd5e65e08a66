import { t } from '../languages/text.ts';

/** The parts of a definition with their names, in the order of the form. */
export type PartNames<Definition> = { readonly [Part in keyof Definition]?: string };

/** @returns the parts in which two definitions differ, regardless of the order of members */
export const listChanged = <Definition extends object>(
  names: PartNames<Definition>,
  before: Definition,
  after: Definition,
): (keyof Definition)[] =>
  (Object.keys(names) as (keyof Definition)[]).filter((part) => differs(before[part], after[part]));

/** A definition as it was read, as it was edited here, and as it is stored now. */
export type Versions<Definition> = Readonly<Record<'base' | 'mine' | 'theirs', Definition>>;

/**
 * Merges two users' changes of a definition, part by part.
 * @returns this user's version with the parts that only the other user has changed, and the parts that both have
 * changed to different values. Those parts keep this user's value.
 */
export function mergeChanges<Definition extends object>({ base, mine, theirs }: Versions<Definition>) {
  const parts = [...new Set([base, mine, theirs].flatMap(Object.keys))] as (keyof Definition)[];
  const merged = { ...mine };
  const conflicts: (keyof Definition)[] = [];
  for (const part of parts) {
    if (!differs(base[part], theirs[part]) || !differs(mine[part], theirs[part])) continue;
    const texts = mergeTexts({ base: base[part], mine: mine[part], theirs: theirs[part] });
    if (!differs(base[part], mine[part])) merged[part] = theirs[part];
    else if (texts !== undefined) merged[part] = texts as Definition[keyof Definition];
    else conflicts.push(part);
  }
  return { merged, conflicts };
}

/** @returns a list of texts with both users' additions and without their removals; undefined for other values */
function mergeTexts({ base = [], mine = [], theirs = [] }: Versions<unknown>): string[] | undefined {
  if (!(isTexts(base) && isTexts(mine) && isTexts(theirs))) return undefined;
  const remaining = theirs.filter((text) => mine.includes(text) || !base.includes(text));
  return [...new Set([...remaining, ...mine.filter((text) => !base.includes(text))])];
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

export const isSame = (left: unknown, right: unknown): boolean => toText(left) === toText(right);

const differs = (left: unknown, right: unknown): boolean => !isSame(left, right);

const toText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

/** @returns a part in words, for comparison with another version */
export function describePart(value: unknown): string {
  if (value === undefined || value === '') return t('nothing');
  if (isTexts(value)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 1) : String(value);
}
