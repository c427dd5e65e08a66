/** Cuts bytes that come in any pieces into products. */
export interface Splitter {
  readonly hasBegun: boolean;
  /** @returns the products that end in this piece */
  split(chunk: Buffer): Buffer[];
  /** @returns what is left; undefined where a product has no end */
  end(): Buffer[] | undefined;
}

const NEWLINE = 0x0a;

/** A product a line. */
export class LineSplitter implements Splitter {
  hasBegun = false;
  private kept: Buffer[] = [];

  split(chunk: Buffer): Buffer[] {
    this.hasBegun = true;
    const found: Buffer[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      found.push(this.take(chunk.subarray(from, at)));
      from = at + 1;
    }
    if (from < chunk.length) this.kept.push(chunk.subarray(from));
    return found.filter(isNotBlank);
  }

  end(): Buffer[] {
    return [this.take(Buffer.alloc(0))].filter(isNotBlank);
  }

  private take(last: Buffer): Buffer {
    if (this.kept.length === 0) return last;
    const line = Buffer.concat([...this.kept, last]);
    this.kept = [];
    return line;
  }
}

/** Blank or a byte order mark alone. */
const isNotBlank = (line: Buffer) => line.some((byte) => byte > 0x20 && byte < 0x80);

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** The objects of a list, which is so deep in the file. */
export class ListSplitter implements Splitter {
  hasBegun = false;
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  /** Of the product that has begun. */
  private kept: Buffer[] = [];
  private readonly depthOfList: number;

  constructor(depthOfList: number) {
    this.depthOfList = depthOfList;
  }

  split(chunk: Buffer): Buffer[] {
    this.hasBegun = true;
    const found: Buffer[] = [];
    let from = this.depth > this.depthOfList ? 0 : -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const before = this.depth;
      this.read(chunk[at] as number);
      if (this.depth === before || Math.min(this.depth, before) !== this.depthOfList) continue;
      if (this.depth > before) {
        from = at;
        continue;
      }
      found.push(Buffer.concat([...this.kept, chunk.subarray(from, at + 1)]));
      this.kept = [];
      from = -1;
    }
    if (from !== -1) this.kept.push(chunk.subarray(from));
    return found;
  }

  end(): Buffer[] | undefined {
    return this.depth === 0 ? [] : undefined;
  }

  private read(byte: number): void {
    if (this.isInText) this.readText(byte);
    else if (byte === QUOTE) this.isInText = true;
    else if (byte === OPEN || byte === OPEN_LIST) this.depth += 1;
    else if (byte === CLOSE || byte === CLOSE_LIST) this.depth -= 1;
  }

  private readText(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInText = false;
  }
}
