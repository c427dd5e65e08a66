import assert from 'node:assert/strict';

/** Any shape in which a product stands under its identifier. */
interface ComparedProduct {
  readonly identifier: string;
}

/**
 * Both hold the same products in the same order, each with its fields in one order. The first that differs is named, and
 * it alone is shown: the difference of two whole catalogs of 25,000 products takes more than 20 GB.
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

/** @throws AssertionError, unless only the order of fields is another one */
function refuse(found: ComparedProduct | undefined, product: ComparedProduct, place: number): void {
  try {
    assert.deepEqual(found, product);
  } catch (error) {
    const { message } = error as Error;
    assert.fail(`product ${place}, ${product.identifier}, is not the expected one\n${message}`);
  }
}
