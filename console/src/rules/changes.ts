import { t } from '../languages/text.ts';

/** The parts of a definition with their words, in the order of the form. */
export type PartNames<Definition> = { readonly [Part in keyof Definition]?: string };

/** @returns the parts in which two definitions differ; the order of members is no difference */
export const listChanged = <Definition extends object>(
  names: PartNames<Definition>,
  before: Definition,
  after: Definition,
): (keyof Definition)[] =>
  (Object.keys(names) as (keyof Definition)[]).filter((part) => toText(before[part]) !== toText(after[part]));

const toText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );

/** @returns what stands beside another version of it */
export function describePart(value: unknown): string {
  if (value === undefined || value === '') return t('nothing');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 1) : String(value);
}
