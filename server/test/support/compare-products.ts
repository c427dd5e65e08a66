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
  for (const [index, product] of expected.entries()) {
    const counterpart = actual[index];
    if (JSON.stringify(counterpart) !== JSON.stringify(product)) refuse(counterpart, product, index + 1);
  }
  const more = actual[expected.length];
  if (more !== undefined) assert.fail(`the product ${more.identifier} is one too many`);
}

/** @throws AssertionError, unless only the order of fields differs */
function refuse(counterpart: ComparedProduct | undefined, product: ComparedProduct, index: number): void {
  try {
    assert.deepEqual(counterpart, product);
  } catch (error) {
    const { message } = error as Error;
    assert.fail(`product ${index}, ${product.identifier}, is not the expected one\n${message}`);
  }
}
