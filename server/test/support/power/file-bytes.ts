/** The bytes of a file that grows with its writes; gaps are zero. */
export class FileBytes {
  private buffer: Buffer;
  size: number;

  constructor(bytes: Uint8Array = new Uint8Array()) {
    this.buffer = Buffer.from(bytes);
    this.size = bytes.length;
  }

  write(index: number, bytes: Uint8Array): void {
    this.resize(Math.max(this.size, index + bytes.length));
    this.buffer.set(bytes, index);
  }

  resize(size: number): void {
    if (size > this.buffer.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * this.buffer.length));
      this.buffer.copy(larger, 0, 0, this.size);
      this.buffer = larger;
    }
    // Bytes removed by a truncation do not return when the file grows again.
    if (size < this.size) this.buffer.fill(0, size, this.size);
    this.size = size;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.size);
  }
}
