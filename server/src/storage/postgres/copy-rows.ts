/**
 * Rows in PostgreSQL's binary COPY format, which needs no escaping of text and bytes. Source: its documentation of
 * COPY.
 */
export class CopyRows {
  private buffer: Buffer<ArrayBuffer>;
  private used = 0;
  private readonly columns: number;
  rows = 0;

  constructor(columns: number, expectedBytes = 64 * 1024) {
    this.columns = columns;
    this.buffer = Buffer.allocUnsafe(Math.max(expectedBytes, 1024));
    this.used = this.buffer.write('PGCOPY\n\xff\r\n\0', 0, 'latin1');
    // No flags and no extension.
    this.used = this.buffer.writeUInt32BE(0, this.used);
    this.used = this.buffer.writeUInt32BE(0, this.used);
  }

  begin(): this {
    this.grow(2);
    this.used = this.buffer.writeInt16BE(this.columns, this.used);
    this.rows += 1;
    return this;
  }

  /** A bigint whose value is below 2^53. */
  integer(value: number | null): this {
    if (value === null) return this.nothing();
    this.grow(12);
    this.used = this.buffer.writeInt32BE(8, this.used);
    this.used = this.buffer.writeInt32BE(Math.floor(value / 2 ** 32), this.used);
    this.used = this.buffer.writeUInt32BE((value % 2 ** 32) >>> 0, this.used);
    return this;
  }

  bytes(value: Uint8Array | null): this {
    if (value === null) return this.nothing();
    this.grow(4 + value.length);
    this.used = this.buffer.writeInt32BE(value.length, this.used);
    this.buffer.set(value, this.used);
    this.used += value.length;
    return this;
  }

  text(value: string | null): this {
    if (value === null) return this.nothing();
    this.grow(4 + value.length * 3);
    const length = this.buffer.write(value, this.used + 4);
    this.used = this.buffer.writeInt32BE(length, this.used) + length;
    return this;
  }

  /** @returns all rows and the trailer; no row can be added afterwards */
  finish(): Uint8Array {
    this.grow(2);
    this.used = this.buffer.writeInt16BE(-1, this.used);
    return this.buffer.subarray(0, this.used);
  }

  private nothing(): this {
    this.grow(4);
    this.used = this.buffer.writeInt32BE(-1, this.used);
    return this;
  }

  private grow(bytes: number): void {
    const length = this.used + bytes;
    if (length <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(length, this.buffer.length * 2));
    this.buffer.copy(larger, 0, 0, this.used);
    this.buffer = larger;
  }
}

export const copyInto = (table: string, columns: readonly string[]): string =>
  `copy ${table} (${columns.join(', ')}) from stdin with (format binary)`;
