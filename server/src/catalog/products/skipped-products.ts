import { countBytes } from '../../kernel/bounded-lines.ts';
import { cutText } from '../../kernel/cut-text.ts';
import type { ProductViolation } from '../../kernel/errors.ts';

/** A product that is left out of its request, because it is not valid. Source: docs/interface.md §4.12. */
export interface SkippedProduct {
  readonly index: number;
  /** null: none that a product could have. */
  readonly identifier: string | null;
  readonly errors: readonly string[];
}

/** A product of which parts of category paths were dropped. */
export interface MendedProduct extends MendedPaths {
  readonly identifier: string;
}

interface MendedPaths {
  /** Paths that had an empty name at an end. */
  readonly count: number;
  /** Those of them that had no other. */
  readonly dropped: number;
}

/** Bad products named one by one; the rest is counted. Source: docs/interface.md §7.3. */
const VIOLATIONS = { most: 100, bytes: 48 * 1024 };
const IDENTIFIER_LENGTH = 255;

/** @returns what an answer says of them */
export function describeInvalid(
  invalid: readonly (Omit<SkippedProduct, 'errors'> & { errors: readonly string[] | (() => string[]) })[],
): ProductViolation[] {
  const validation: ProductViolation[] = [];
  let left = VIOLATIONS.bytes;
  for (const { identifier, index, errors } of invalid.slice(0, VIOLATIONS.most)) {
    const named = violation({ identifier, index }, typeof errors === 'function' ? errors() : errors);
    left -= countBytes(named);
    if (left < 0) break;
    validation.push(named);
  }
  const rest = invalid.length - validation.length;
  if (rest > 0) validation.push(violation(null, [`${rest} more products are not valid`]));
  return validation;
}

export const violation = (
  product: ProductViolation['product'],
  errors: readonly string[],
): ProductViolation => ({ product, schemaErrors: errors, errors });

/** @returns as much as an identifier can have */
export function identifierOf(product: unknown): string | null {
  const { identifier } = (product ?? {}) as { identifier?: unknown };
  return typeof identifier === 'string' ? cutText(identifier, IDENTIFIER_LENGTH) : null;
}

/** Drops the empty names at both ends of category paths, and paths that then have none. */
export function mendPaths(product: unknown): MendedPaths & { readonly product: unknown } {
  const { categories } = (product ?? {}) as { categories?: unknown };
  if (!Array.isArray(categories)) return { product, count: 0, dropped: 0 };
  let [count, dropped] = [0, 0];
  const kept = categories.flatMap((category) => {
    const { path } = (category ?? {}) as { path?: unknown };
    if (!Array.isArray(path)) return [category];
    const names = trimEmpty(path);
    if (names.length === 0) dropped += 1;
    if (names.length < path.length || names.length === 0) count += 1;
    return names.length === 0 ? [] : [{ ...category, path: names }];
  });
  return { product: { ...(product as object), categories: kept }, count, dropped };
}

function trimEmpty(path: readonly unknown[]): readonly unknown[] {
  const isName = (name: unknown) => name !== '' && name !== null;
  return path.slice(Math.max(0, path.findIndex(isName)), path.findLastIndex(isName) + 1);
}
