import type { PartialProduct, UploadProduct } from '@relata/client';
import { mergeChanges } from '../../rules/changes.ts';

/** A value, either as it was sent or as it was edited. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  readonly userGroups?: readonly string[];
  /** Whether its attribute is chosen here. */
  readonly isNew?: boolean;
}

export const readEntries = ({ attributes }: Pick<UploadProduct, 'attributes'>): readonly Entry[] =>
  (attributes ?? []).flatMap(({ key, value, userGroups }) =>
    value === null ? [] : [{ key, value, ...(userGroups?.length && { userGroups }) }],
  );

/** @returns the entries to send; rows without attribute or value are omitted, unless they were sent before */
export const cleanEntries = (entries: readonly Entry[], base: readonly Entry[]): readonly Entry[] =>
  entries.flatMap((row) => {
    const { isNew, ...entry } = row;
    const key = isNew ? entry.key.trim() : entry.key;
    if (base.includes(row)) return [row];
    return key !== '' && entry.value !== '' ? [{ ...entry, key }] : [];
  });

const valuesOf = (entries: readonly Entry[], key: string): readonly Entry[] =>
  entries.filter((entry) => entry.key === key);

/** @returns the keys with other values, or with the same ones in another order */
export function listChangedKeys(before: readonly Entry[], after: readonly Entry[]): readonly string[] {
  const keys = new Set([...before, ...after].map(({ key }) => key));
  const say = (entries: readonly Entry[], key: string) =>
    JSON.stringify(valuesOf(entries, key).map(({ value, userGroups = [] }) => [value, userGroups]));
  return [...keys].filter((key) => say(before, key) !== say(after, key));
}

interface Sent {
  key: string;
  value: string | null;
  userGroups?: string[];
}

/** @returns the partial update with only the changed keys. Source: docs/interface §2.3 rules 3 and 12 */
export function toPartial(
  identifier: string,
  before: readonly Entry[],
  after: readonly Entry[],
): PartialProduct {
  const attributes = listChangedKeys(before, after).flatMap((key): Sent[] => {
    const values = valuesOf(after, key);
    if (values.length === 0) return [{ key, value: null }];
    return values.map(({ value, userGroups }) => ({
      key,
      value,
      ...(userGroups && { userGroups: [...userGroups] }),
    }));
  });
  return { identifier, attributes };
}

/** Entries by key: the parts in which two users' changes of a product may conflict. */
const byKey = (entries: readonly Entry[]) => ({ ...Object.groupBy(entries, ({ key }) => key) });

/** @returns the merged entries of the product, and the keys that both have changed differently */
export function mergeEntries({ base, draft, now }: Record<'base' | 'draft' | 'now', readonly Entry[]>) {
  const { merged, conflicts } = mergeChanges({ base: byKey(base), mine: byKey(draft), theirs: byKey(now) });
  return {
    merged: Object.values(merged).flatMap((entries = []) => entries),
    conflicts: conflicts.map(String),
  };
}
