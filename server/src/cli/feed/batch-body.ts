/** Larger bodies gain nothing. */
const BATCH_BYTES = 8 * 1024 * 1024;
const BEGIN = Buffer.from('{"products":[');
const END = Buffer.from(']}');
const COMMA = 0x2c;

/** The body of a batch, in memory that all batches of a push share: new memory for each would be freed too late. */
export class BatchBody {
  count = 0;
  private bytes = Buffer.concat([BEGIN], BATCH_BYTES);
  private length = BEGIN.length;
  private readonly size: number;

  /** @param size products in a batch */
  constructor(size: number) {
    this.size = size;
  }

  /** @returns false where the batch is full; an empty one takes a product of any length */
  add(product: Buffer): boolean {
    const comma = this.count === 0 ? 0 : 1;
    const length = this.length + comma + product.length;
    const isFull = this.count === this.size || length + END.length > BATCH_BYTES;
    if (isFull && this.count > 0) return false;
    if (length + END.length > this.bytes.length) this.bytes = Buffer.concat([BEGIN], length + END.length);
    if (comma === 1) this.bytes[this.length] = COMMA;
    product.copy(this.bytes, this.length + comma);
    this.length = length;
    this.count += 1;
    return true;
  }

  /** @returns the body, until the next product is added; the next one begins a batch */
  take(): Buffer {
    const body = this.bytes.subarray(0, this.length + END.copy(this.bytes, this.length));
    this.length = BEGIN.length;
    this.count = 0;
    return body;
  }
}
