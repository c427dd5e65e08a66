import { hash as computeHash } from 'node:crypto';
import { sampleBytes } from '../../../storage/threads/threads.ts';

/**
 * Data that was derived from a batch, besides the texts of its rows. Only the room that made the columns reads them.
 */
export type DerivedColumns = Readonly<Record<string, Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>>;

/**
 * Products on their way from a parsing thread to a writing thread. Their text is bytes in shared memory, and their
 * columns are buffers that are transferred, because the serving thread in between never reads them.
 */
export interface PackedProducts {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** A sample of the bytes at the time of packing. */
  readonly sample: number;
  /** The positions of the parts of row i in `bytes`: the ends of identifier, raw upload and derived text. */
  readonly offsets: Uint32Array<ArrayBuffer>;
  /** 16 bytes for each row, the hash of its raw upload. */
  readonly hashes: Uint8Array<ArrayBuffer>;
  /** The existing document of row i; 0 if the row has a new document. */
  readonly documents: Float64Array<ArrayBuffer>;
  /** 1 if the product of row i exists already and gains facts of attributes that a full update creates. */
  readonly gains: Uint8Array<ArrayBuffer>;
  /** The id of the product of row i; 0 if the catalog has no such product. */
  readonly products: Float64Array<ArrayBuffer>;
  /** The catalog version with which the rows were compared. */
  readonly catalogVersion: number;
  /** Category paths of the products, as JSON, that have no id. */
  readonly paths: readonly string[];
  readonly derived?: DerivedColumns | undefined;
}

const HASH_BYTES = 16;
const PARTS = 3;

export const countRows = ({ documents }: PackedProducts): number => documents.length;

/** @returns the identifiers of all rows, in order; each begins where the previous row ends */
export function identifiersOf({ bytes, offsets, documents }: PackedProducts): string[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(documents, (_, row) =>
    text.toString('utf8', offsets[row * PARTS - 1] ?? 0, offsets[row * PARTS] ?? 0),
  );
}

export const rawOf = ({ bytes, offsets }: PackedProducts, row: number): Uint8Array =>
  bytes.subarray(offsets[row * PARTS], offsets[row * PARTS + 1]);

export function derivedOf({ bytes, offsets }: PackedProducts, row: number): string {
  const [start, end] = [offsets[row * PARTS + 1] ?? 0, offsets[row * PARTS + 2] ?? 0];
  return start === end ? '' : Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

/** @returns the hashes of these rows, concatenated */
export function packHashes(packed: PackedProducts, rows: readonly KeyedRow[]): Uint8Array {
  const hashes = new Uint8Array(rows.length * HASH_BYTES);
  for (const [index, { row }] of rows.entries())
    hashes.set(packed.hashes.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES), index * HASH_BYTES);
  return hashes;
}

export function transferOf(packed: PackedProducts): ArrayBuffer[] {
  const { offsets, hashes, documents, gains, products, derived = {} } = packed;
  return [offsets, hashes, documents, gains, products, ...Object.values(derived)].map(({ buffer }) => buffer);
}

export interface Row {
  /** 0 if the catalog has no such product. */
  readonly product: number;
  /** In hexadecimal. */
  readonly hash: string;
  readonly document: number;
  readonly gains?: boolean;
}

/** The most bytes of UTF-8 for one UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A loop copies so few bytes faster than a call does. */
const LOOPED_BYTES = 24;

const NOT_COMPARED = { catalogVersion: -1, paths: [] };

/** Collects rows, part by part; the buffer grows by doubling. */
export class ProductPacker {
  private readonly rows: Row[] = [];
  private readonly offsets: number[] = [];
  private buffer: Buffer<SharedArrayBuffer>;
  private used = 0;
  private rawStart = 0;
  private rawEnd = 0;

  /** @param room the first memory for rows */
  constructor(room = new SharedArrayBuffer(4096)) {
    this.buffer = Buffer.from(room);
  }

  /** Begins a row. Its raw upload follows. */
  begin(identifier: string): void {
    this.addText(identifier);
    this.rawStart = this.used;
  }

  addText(text: string): void {
    this.grow(text.length * BYTES_PER_UNIT);
    this.used += this.buffer.write(text, this.used);
  }

  addBytes(bytes: Buffer, start: number, end: number): void {
    this.grow(end - start);
    if (end - start > LOOPED_BYTES) bytes.copy(this.buffer, this.used, start, end);
    else
      for (let offset = start; offset < end; offset += 1)
        this.buffer[this.used + offset - start] = bytes[offset] as number;
    this.used += end - start;
  }

  /**
   * Ends the raw upload; derived text may follow.
   * @returns 128 bits of its SHA-256, in hexadecimal: uploads with equal hashes count as equal
   */
  hashRaw(): string {
    this.rawEnd = this.used;
    const raw = this.buffer.subarray(this.rawStart, this.used);
    return computeHash('sha256', raw, 'hex').slice(0, 2 * HASH_BYTES);
  }

  /** Ends a row whose document exists already, and drops its raw upload. */
  endPresent(row: Row): void {
    this.used = this.rawStart;
    this.rawEnd = this.rawStart;
    this.endFresh(row);
  }

  endFresh(row: Row): void {
    this.rows.push(row);
    this.offsets.push(this.rawStart, this.rawEnd, this.used);
  }

  get count(): number {
    return this.rows.length;
  }

  /** @returns the added text, which belongs to no row */
  takeText(): string {
    const text = this.buffer.toString('utf8', 0, this.used);
    this.used = 0;
    return text;
  }

  /** @param compared the state with which the rows were compared; default: none */
  pack(
    compared: Pick<PackedProducts, 'catalogVersion' | 'paths' | 'derived'> = NOT_COMPARED,
  ): PackedProducts {
    const { rows } = this;
    const hashes = Buffer.from(new ArrayBuffer(rows.length * HASH_BYTES));
    for (const [index, { hash }] of rows.entries()) hashes.write(hash, index * HASH_BYTES, 'hex');
    const bytes = new Uint8Array(this.buffer.buffer, 0, this.used);
    return {
      bytes,
      sample: sampleBytes(bytes),
      offsets: Uint32Array.from(this.offsets),
      hashes: new Uint8Array(hashes.buffer),
      documents: Float64Array.from(rows, ({ document }) => document),
      gains: Uint8Array.from(rows, ({ gains }) => Number(gains ?? false)),
      products: Float64Array.from(rows, ({ product }) => product),
      ...compared,
    };
  }

  private grow(bytes: number): void {
    const needed = this.used + bytes;
    if (needed <= this.buffer.length) return;
    const larger = Buffer.from(new SharedArrayBuffer(Math.max(needed, this.buffer.length * 2)));
    this.buffer.copy(larger, 0, 0, this.used);
    this.buffer = larger;
  }
}

export interface KeyedRow {
  readonly row: number;
  readonly identifier: string;
}

/** Sorts rows, because sorted keys make an index grow page by page: 1.6 to 3 times faster on large catalogs. */
export function sortedRows(packed: PackedProducts): KeyedRow[] {
  const rows = identifiersOf(packed).map((identifier, row) => ({ row, identifier }));
  return rows.sort((a, b) => (a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : 0));
}
