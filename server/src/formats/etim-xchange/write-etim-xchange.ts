/**
 * Writes products as ETIM xChange 2.0, in the form that its input format reads. Source: its guideline of 2025-11-27.
 */
import type { FeedRow, Field, OutputFormat, RelatedAs, RowWriter, WriterOptions } from '../output/output.ts';
import { findTarget, matches, membersOf, type Step, type Target } from './etim-members.ts';
import { type Cell, type Notes, openProduct, readValue } from './etim-product.ts';

function fieldOf(name: string): Field | undefined {
  const target = findTarget(name);
  if (target === undefined) return undefined;
  return {
    name,
    kind: 'checked',
    most: Number.POSITIVE_INFINITY,
    check(value) {
      const { leaf, text } = readValue(target, value);
      return matches(text, membersOf(target).get(leaf)?.form ?? '');
    },
  };
}

const RELATION_TYPES: Readonly<Record<RelatedAs, string>> = {
  accessory: 'ACCESSORY',
  required_part: 'MANDATORY',
  substitute: 'SIMILAR',
  often_bought_with: 'CROSS-SELLING',
  part_of_set: 'CONSISTS_OF',
  different_brand: 'SIMILAR',
};

/** The maximum length of the shortest description, and of a supplier's name. */
const NAME_LENGTH = 80;
const NAME = 'ProductDetails.ProductDescriptions.MinimalProductDescription';
const PAGE = 'ProductDetails.ProductDescriptions.ProductPageUrl';
const IDENTIFICATION = 'ProductIdentification.ManufacturerProductNumber';
const MANUFACTURER = 'ProductIdentification.ManufacturerName';
const ATTACHED = 'ProductAttachments.AttachmentDetails.AttachmentUri';

/** Where a column belongs in the file. A product that was read from such a file may already have a value there. */
const SHOWN: Readonly<Record<string, string>> = { name: NAME, productUrl: PAGE, images: ATTACHED };

class XchangeWriter implements RowWriter {
  readonly #options: WriterOptions;
  readonly #notes: Notes = { supplier: '', currency: '', languages: new Set() };
  /** The target of each column, in the order of the columns. */
  readonly #targets: readonly (Target | undefined)[];
  readonly #indexOf: ReadonlyMap<string, number>;
  /** `listLeftOut` is called before `write`, so both use the same product. */
  readonly #built = new WeakMap<FeedRow, BuiltProduct>();
  #count = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#targets = options.columns.map(({ name }) => findTarget(SHOWN[name] ?? name));
    this.#indexOf = new Map(options.columns.map(({ name }, index) => [name, index]));
  }

  /** Read only after the first rows were written, because they supply the currency and the supplier. */
  get head(): string {
    const { channelName, day } = this.#options;
    const { currency, supplier } = this.#notes;
    const head = {
      SchemaVersion: '2.0',
      CatalogueId: channelName.slice(0, 20),
      CatalogueType: 'FULL',
      GenerationDate: day,
      CatalogueValidityStart: day,
      ...(currency !== '' && { CurrencyCode: currency }),
    };
    const named = JSON.stringify(supplier || channelName.slice(0, NAME_LENGTH));
    return `${JSON.stringify(head).slice(0, -1)},"Supplier":[{"SupplierName":${named},"Product":[`;
  }

  get tail(): string {
    return `]}],"Language":${JSON.stringify([...this.#notes.languages])}}\n`;
  }

  write(row: FeedRow): string {
    this.#count += 1;
    return `${this.#count === 1 ? '' : ','}\n${JSON.stringify(this.#buildOnce(row).product)}`;
  }

  listLeftOut(row: FeedRow): readonly string[] {
    return this.#buildOnce(row).leftOut;
  }

  #buildOnce(row: FeedRow): BuiltProduct {
    return this.#built.getOrInsertComputed(row, () => this.#build(row));
  }

  #build(row: FeedRow): BuiltProduct {
    const builder = openProduct(this.#notes);
    const cells = this.#listCells(row);
    this.#notes.supplier ||= this.#valuesOf('SupplierName', row)[0] ?? '';
    const inRows = cells.filter((cell) => cell.row !== undefined);
    // An element of an inner list is placed after the element that contains it.
    inRows.sort((a, b) => depthOf(a) - depthOf(b) || (a.row ?? 0) - (b.row ?? 0));
    for (const cell of [...inRows, ...cells.filter((cell) => cell.row === undefined)]) builder.add(cell);
    for (const cell of listRelated(row)) builder.add(cell);
    return builder.finish();
  }

  #listCells(row: FeedRow): Cell[] {
    const numberOf = numberRows(row);
    return this.#options.columns.flatMap(({ name }, index): Cell[] => {
      // Products that were read from such a file have their own descriptions and attachments.
      const isOwn = this.#valuesOf(SHOWN[name] ?? '', row).length > 0;
      const target = isOwn ? undefined : this.#targets[index];
      if (target === undefined) return [];
      const rows = row.rows?.[index];
      const cells = (row.values[index] ?? []).map((value, number) => ({
        target,
        value,
        row: numberOf(rows?.[number]),
      }));
      return FORMED[name] === undefined ? cells : cells.flatMap(FORMED[name]);
    });
  }

  #valuesOf(column: string, { values }: FeedRow): readonly string[] {
    return values[this.#indexOf.get(column) ?? -1] ?? [];
  }
}

type BuiltProduct = ReturnType<ReturnType<typeof openProduct>['finish']>;

const depthOf = ({ target }: Cell) => target.steps.filter(({ member }) => member.isList).length;

/** Numbers the rows that have names, in order of appearance, after all numbered rows. */
function numberRows({ rows = [] }: FeedRow): (row: string | number | undefined) => number | undefined {
  const texts = new Set(
    rows.flatMap((ofColumn) => (ofColumn ?? []).filter((row) => typeof row === 'string')),
  );
  const numbers = new Map(
    [...texts].map((row, index) => [row, Number.MAX_SAFE_INTEGER - texts.size + index]),
  );
  return (row) => (typeof row === 'string' ? numbers.get(row) : row);
}

function listRelated({ related }: FeedRow): Cell[] {
  return related.flatMap(({ as, identifiers, quantities }) => {
    const target = findTarget(`ProductRelations.${RELATION_TYPES[as]}`) as Target;
    return identifiers.flatMap((value): Cell[] => {
      const quantity = quantities?.get(value);
      const counted = { target: countOf(target, value), value: String(quantity) };
      return quantity === undefined ? [{ target, value }] : [{ target, value }, counted];
    });
  });
}

/** The target for the quantity of one related product. A value of the product itself takes precedence. */
function countOf({ steps, leaf }: Target, identifier: string): Target {
  const [list, product] = steps as [Step, Step];
  const key = { name: leaf, value: identifier, isUnique: true } as const;
  return { steps: [list, { ...product, key }], leaf: 'RelatedProductQuantity' };
}

const TYPE = findTarget('ProductAttachments.AttachmentType') as Target;

const FORMED: Readonly<Record<string, (cell: Cell, index: number) => Cell[]>> = {
  // The first picture is the main one, and each picture is a separate attachment.
  images: (cell, index) => [
    { target: TYPE, value: index === 0 ? 'ATX015' : 'ATX018', row: index + 1 },
    { ...cell, row: index + 1 },
  ],
  name: (cell) => [{ ...cell, value: cell.value.slice(0, NAME_LENGTH) }],
};

const checked = (name: string): Field => fieldOf(name) ?? { name, kind: 'text' };

export const etimXchange: OutputFormat = {
  type: 'etim-xchange',
  label: 'ETIM xChange',
  description: 'a JSON document of ETIM xChange 2.0; attributes have the column names of the pipeline format',
  fields: [
    { ...checked(IDENTIFICATION), isRequired: true, most: 1 },
    { ...checked(MANUFACTURER), isRequired: true, most: 1 },
    { name: 'name', kind: 'text' },
    { ...checked(PAGE), name: 'productUrl', most: 1 },
    { ...checked(ATTACHED), name: 'images' },
    { name: 'SupplierName', kind: 'identifier', maxLength: 80 },
  ],
  fieldNamed: fieldOf,
  identifiedBy: IDENTIFICATION,
  suggestions: {
    [IDENTIFICATION]: { field: 'identifier' },
    [MANUFACTURER]: { attributes: ['manufacturername', 'manufacturer', 'hersteller', 'brand', 'marke'] },
    name: { field: 'name' },
    productUrl: { field: 'productUrl' },
    images: { field: 'images' },
  },
  wholeBecause: 'the standard cannot mark a product as removed',
  suggestsAttributes: true,
  relatedIdentifier: /^.{1,35}$/,
  defaultVariant: 'json',
  variants: {
    json: {
      ending: 'json',
      mediaType: 'application/json; charset=utf-8',
      open: (options) => new XchangeWriter(options),
    },
  },
};
