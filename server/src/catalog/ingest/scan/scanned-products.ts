import type { DerivedFrom, DerivedSource } from '../../derivation.ts';
import type { OwnField } from '../../filters/filters.ts';
import { type ProductPacker, unescapeText } from '../../products/documents/documents.ts';
import { normaliseProduct, type UploadedProduct } from '../../products/products.ts';
import type { AttributeScan } from './attribute-scan.ts';
import { decodeText } from './readers.ts';
import { IntList, SpanNumbers } from './span-table.ts';

interface Member {
  readonly name: string;
  /** The bytes before its value in the stored form. */
  readonly lead: Buffer;
  /** The text of an absent member; undefined: neither text nor name is written. */
  readonly missing: Buffer | undefined;
}

const member = (name: string, missing?: string): Member => ({
  name,
  lead: Buffer.from(`${name === 'identifier' ? '{' : ','}"${name}":`),
  missing: missing === undefined ? undefined : Buffer.from(missing),
});
/** The members of the stored form, in its order. */
const MEMBERS = [
  ...[member('identifier'), member('groupIdentifier'), member('name', '""'), member('productUrl', '""')],
  ...[member('images', '[]'), member('categories', '[]'), member('attributes', '[]'), member('settings')],
];
const [IDENTIFIER, GROUP, CATEGORIES, SETTINGS] = [0, 1, 5, MEMBERS.length - 1] as const;
const OWN_MEMBERS: Readonly<Record<OwnField, number>> = {
  identifier: IDENTIFIER,
  groupIdentifier: GROUP,
  name: 2,
};
/** The texts of each key, from body to body, as long as the set of keys that are read is in use. */
const knownTexts = new WeakMap<ReadonlySet<string>, Map<string, SpanNumbers>>();
const NO_CATEGORIES: DerivedFrom['categories'] = [];
const NUMBERS = new Map(MEMBERS.map(({ name }, number) => [name, number]));
const CLOSES = Buffer.from('}');
/** Settings without a member count as absent. */
const EMPTY_LENGTH = 2;

/**
 * The integers of a product: its start and end, its first value, whether the product is irregular, and the start and
 * end of each member.
 */
const [START, STOP, VALUES, IS_IRREGULAR, SPANS] = [0, 1, 2, 3, 4] as const;
const INTS = SPANS + 2 * MEMBERS.length;

/** The positions of the products of a scanned body in its bytes. */
export class ScannedProducts {
  private readonly bytes: Buffer;
  private readonly attributes: AttributeScan;
  private readonly ints = new IntList();
  private last = 0;

  constructor(bytes: Buffer, attributes: AttributeScan) {
    this.bytes = bytes;
    this.attributes = attributes;
  }

  start(offset: number): void {
    this.last = this.ints.reserve(INTS);
    this.ints.set(this.last + START, offset);
    this.ints.set(this.last + VALUES, this.attributes.values.length);
  }

  end(end: number): void {
    this.ints.set(this.last + STOP, end);
  }

  /** Notes the position of a member. `isIrregular` means that JSON.stringify would write its value differently. */
  note(name: string, { start, end, isIrregular }: { start: number; end: number; isIrregular: boolean }) {
    const number = NUMBERS.get(name);
    if (isIrregular || number === undefined) this.ints.set(this.last + IS_IRREGULAR, 1);
    if (number === undefined) return;
    this.ints.set(this.last + SPANS + 2 * number, start);
    this.ints.set(this.last + SPANS + 2 * number + 1, end);
  }

  listIdentifiers(): string[] {
    return Array.from({ length: this.ints.length / INTS }, (_, row) => this.readText(row, IDENTIFIER));
  }

  /** @returns '' for an absent member */
  private readText(row: number, number: number): string {
    const [start, end] = this.spanOf(row, number);
    return end === 0 ? '' : decodeText(this.bytes, start, end);
  }

  /** @param names of all keys, by number @param read the keys whose values are read */
  openDerived(names: readonly string[], read: ReadonlySet<string>): DerivedSource {
    const { bytes } = this;
    const { values } = this.attributes;
    const isRead = names.map((name) => read.has(name));
    const numbersByName = knownTexts.getOrInsertComputed(read, () => new Map<string, SpanNumbers>());
    const texts = names.map((name, key) =>
      isRead[key] ? numbersByName.getOrInsertComputed(name, () => new SpanNumbers()) : undefined,
    );
    const lists = new SpanNumbers();
    const parsed = new Map<number, DerivedFrom['categories']>();
    return {
      keys: names,
      texts: numbersByName,
      readOwn: (row, field) => this.readText(row, OWN_MEMBERS[field]),
      categoriesOf: (row) => {
        const [start, end] = this.spanOf(row, CATEGORIES);
        if (end === 0) return NO_CATEGORIES;
        const number = lists.add(bytes, start, end);
        return parsed.getOrInsertComputed(number, () => JSON.parse(lists.textOf(number)));
      },
      visitTexts: (row, visit, isVisited = isRead) =>
        this.visitIndexes(row, isVisited, (key, index) =>
          // The span excludes the quotes.
          visit(
            key,
            (texts[key] as SpanNumbers).add(bytes, values.at(index + 1) + 1, values.at(index + 2) - 1),
            this.attributes.rowAt(index),
          ),
        ),
      textOf: (key, text) => unescapeText((texts[key] as SpanNumbers).textOf(text)),
    };
  }

  /** Calls `visit` with the number of the key, for each value of a product with one of these keys. */
  visitValues(row: number, isVisited: readonly boolean[], visit: (key: number, value: string) => void): void {
    const { values } = this.attributes;
    this.visitIndexes(row, isVisited, (key, index) =>
      visit(key, decodeText(this.bytes, values.at(index + 1), values.at(index + 2))),
    );
  }

  /** @param visit receives the index of the value in the scan */
  private visitIndexes(
    row: number,
    isVisited: readonly boolean[],
    visit: (key: number, index: number) => void,
  ) {
    const { values } = this.attributes;
    const next = (row + 1) * INTS;
    const end = next < this.ints.length ? this.ints.at(next + VALUES) : values.length;
    for (let valueIndex = this.ints.at(row * INTS + VALUES); valueIndex < end; valueIndex += 3) {
      const key = values.at(valueIndex);
      if (isVisited[key]) visit(key, valueIndex);
    }
  }

  read(row: number): UploadedProduct {
    const [start, end] = [this.ints.at(row * INTS + START), this.ints.at(row * INTS + STOP)];
    return normaliseProduct(JSON.parse(this.bytes.toString('utf8', start, end)));
  }

  /** Writes the same text as JSON.stringify of `read`. */
  write(row: number, packer: ProductPacker): void {
    const { bytes, ints } = this;
    if (ints.at(row * INTS + IS_IRREGULAR) === 1) {
      packer.addText(JSON.stringify(this.read(row)));
      return;
    }
    const copier = new RunCopier(bytes, packer, ints.at(row * INTS + START));
    for (let number = 0; number < MEMBERS.length; number += 1) {
      const { lead, missing } = MEMBERS[number] as Member;
      const [start, end] = this.spanOf(row, number);
      if (end > 0) copier.add(lead, start, end);
      else if (missing !== undefined) copier.insert(lead, missing);
    }
    copier.close(ints.at(row * INTS + STOP));
  }

  /** @returns [0, 0] for an absent member */
  private spanOf(row: number, number: number): readonly [number, number] {
    const position = row * INTS + SPANS + 2 * number;
    const [start, end] = [this.ints.at(position), this.ints.at(position + 1)];
    if (end === 0 && number === GROUP) return this.spanOf(row, IDENTIFIER);
    return number === SETTINGS && end - start <= EMPTY_LENGTH ? [0, 0] : [start, end];
  }
}

/** Joins values with the bytes before them. It copies parts of the body that have the stored form in one step. */
class RunCopier {
  private readonly bytes: Buffer;
  private readonly packer: ProductPacker;
  private from: number;
  private to: number;

  constructor(bytes: Buffer, packer: ProductPacker, start: number) {
    this.bytes = bytes;
    this.packer = packer;
    this.from = start;
    this.to = start;
  }

  add(lead: Buffer, start: number, end: number): void {
    // A gap as long as the lead contains the lead, because nothing else so short fits between two values.
    if (start - this.to !== lead.length) {
      this.write(lead);
      this.from = start;
    }
    this.to = end;
  }

  insert(lead: Buffer, value: Buffer): void {
    this.write(lead);
    this.packer.addBytes(value, 0, value.length);
  }

  close(stop: number): void {
    if (stop - this.to === CLOSES.length) this.packer.addBytes(this.bytes, this.from, stop);
    else this.write(CLOSES);
  }

  private write(next: Buffer): void {
    this.packer.addBytes(this.bytes, this.from, this.to);
    this.packer.addBytes(next, 0, next.length);
    this.from = this.to;
  }
}
