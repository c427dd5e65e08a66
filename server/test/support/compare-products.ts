import assert from 'node:assert/strict';

/** A product of any form with its identifier. */
interface ComparedProduct {
  readonly identifier: string;
}

/**
 * Asserts equal products in equal order. Fields may be in any order. Only the first difference is shown, because a diff
 * of two whole catalogs of 25,000 products takes more than 20 GB.
 */
export function assertSameProducts(
  actual: readonly ComparedProduct[],
  expected: readonly ComparedProduct[],
): void {
  for (const [at, product] of expected.entries()) {
    const found = actual[at];
    if (JSON.stringify(found) !== JSON.stringify(product)) refuse(found, product, at + 1);
  }
  const more = actual[expected.length];
  if (more !== undefined) assert.fail(`the product ${more.identifier} is one too many`);
}

/** @throws AssertionError, unless only the order of fields differs */
function refuse(found: ComparedProduct | undefined, product: ComparedProduct, place: number): void {
  try {
    assert.deepEqual(found, product);
  } catch (error) {
    const { message } = error as Error;
    assert.fail(`product ${place}, ${product.identifier}, is not the expected one\n${message}`);
  }
}
