import type { UploadedProduct } from '../products/products.ts';
import {
  type Comparable,
  type ComparedAttribute,
  describeAttribute,
  kindOf,
  readComparables,
  readOperand,
} from './comparable.ts';
import { combineTests, compileOperator, type FilterOperator, type Test } from './operators.ts';

/** Which products are meant. Source: docs/interface.md §12.2. */
export type Filter =
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  | AttributeCondition
  | { readonly category: readonly string[] }
  | { readonly identifiers: readonly string[] };

export interface AttributeCondition {
  readonly attribute: string;
  readonly operator: FilterOperator;
  readonly value?: unknown;
}

/** A product as filters see it. */
export interface ProductView {
  readonly identifier: string;
  readonly categories: readonly (readonly string[])[];
  valuesOf(attribute: ComparedAttribute): readonly Comparable[];
  /** @returns the rows of these values, by their places; undefined: none has one */
  rowsOf?(attribute: ComparedAttribute): readonly (string | undefined)[] | undefined;
}

export type ProductTest = Test<ProductView>;

/** @returns an upload as filters see it; values and paths are read when a condition asks for them */
export const viewUpload = (product: UploadedProduct): ProductView => new UploadView(product);

/** An object literal with a getter would be a hidden class of its own each time. */
class UploadView implements ProductView {
  readonly #product: UploadedProduct;

  constructor(product: UploadedProduct) {
    this.#product = product;
  }

  get identifier(): string {
    return this.#product.identifier;
  }

  get categories(): readonly (readonly string[])[] {
    return this.#product.categories.map(({ path }) => path);
  }

  valuesOf(attribute: ComparedAttribute): Comparable[] {
    return readComparables(this.#product, attribute).map(({ comparable }) => comparable);
  }
}

/** Why a comparison cannot work with the attributes that there are. Source: docs/interface.md §12.4. */
export class ComparisonProblem extends Error {}

export type FindAttribute = (name: string) => ComparedAttribute;

/** @throws ComparisonProblem */
export function compileFilter(filter: Filter, findAttribute: FindAttribute): ProductTest {
  const compile = (one: Filter) => compileFilter(one, findAttribute);
  if ('all' in filter) return combineTests('all', filter.all.map(compile));
  if ('any' in filter) return combineTests('any', filter.any.map(compile));
  if ('not' in filter) return combineTests('not', [compile(filter.not)]);
  if ('category' in filter)
    return ({ categories }) => categories.some((path) => beginsWith(path, filter.category));
  if ('identifiers' in filter) {
    const named = new Set(filter.identifiers);
    return ({ identifier }) => named.has(identifier);
  }
  return compileCondition(filter, findAttribute(filter.attribute));
}

function beginsWith(path: readonly string[], start: readonly string[]): boolean {
  return path.length >= start.length && start.every((name, at) => path[at] === name);
}

/** No condition holds without a value; of several values one is enough. Source: docs/interface.md §12.2 rules 8, 9. */
function compileCondition(
  { operator, value }: AttributeCondition,
  attribute: ComparedAttribute,
): ProductTest {
  if (operator === 'exists') return (product) => product.valuesOf(attribute).length > 0;
  if (operator === 'contains' && kindOf(attribute) !== 'text')
    throw new ComparisonProblem(`contains needs text, ${describeAttribute(attribute)}`);
  const operands = [value].flat().map((one) => getOperand(one, attribute));
  const holds = compileOperator(operator, operands);
  return (product) => product.valuesOf(attribute).some(holds);
}

function getOperand(value: unknown, attribute: ComparedAttribute): Comparable {
  const operand = readOperand(value, attribute);
  if (operand !== undefined) return operand;
  throw new ComparisonProblem(
    `the value ${JSON.stringify(value)} does not fit, ${describeAttribute(attribute)}`,
  );
}

/** @returns every condition of a filter, in the order written */
export function listConditions(filter: Filter): readonly Filter[] {
  if ('all' in filter) return filter.all.flatMap(listConditions);
  if ('any' in filter) return filter.any.flatMap(listConditions);
  return 'not' in filter ? listConditions(filter.not) : [filter];
}
