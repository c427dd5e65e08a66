import { CategorySchema } from '../../products/products.ts';
import { afterSameAgain, LOWER_N, NO_SPAN, oddities, UNSURE } from './json-bytes.ts';
import type { Reader } from './readers.ts';
import { readerOf } from './schema-reader.ts';
import { SpanTable } from './span-table.ts';

const { path, categoryId } = CategorySchema.properties;

/** Reads the categories of products, and keeps the paths that came without an id. */
export class CategoryScan {
  private readonly bytes: Buffer;
  private readonly table: SpanTable;
  /** Numbers of paths, each once, in the order in which they came. */
  private readonly wanted = new Set<number>();
  private last = NO_SPAN;
  private path = UNSURE;
  private hasId = false;
  private readonly readPath: Reader;
  private readonly readId: Reader;
  private readonly readCategory: Reader;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.table = new SpanTable(bytes);
    this.readPath = readerOf(bytes, path, new Map());
    this.readId = readerOf(bytes, categoryId, new Map());
    const noting = new Map<object, Reader>([
      [path, (at) => this.afterPath(at)],
      [categoryId, (at) => this.afterId(at)],
    ]);
    this.readCategory = readerOf(bytes, CategorySchema, noting);
  }

  readonly read: Reader = (at) => {
    this.hasId = false;
    const end = this.readCategory(at);
    if (end >= 0 && !this.hasId) this.wanted.add(this.path);
    return end;
  };

  /** @returns the paths as JSON, each once */
  listPaths(): string[] {
    const { starts, ends } = this.table;
    const texts = Array.from(this.wanted, (path) => this.bytes.toString('utf8', starts[path], ends[path]));
    return [...new Set(texts.map((one) => JSON.stringify(JSON.parse(one))))];
  }

  /** Products of one category often follow each other. */
  private afterPath(at: number): number {
    const same = this.path < 0 ? UNSURE : afterSameAgain(this.bytes, at, this.last);
    if (same >= 0) return same;
    const before = oddities.count;
    const end = this.readPath(at);
    if (end < 0) return UNSURE;
    this.path = this.table.add(at, end);
    this.last = { start: at, length: end - at, oddities: oddities.count - before };
    return this.path < 0 ? UNSURE : end;
  }

  private afterId(at: number): number {
    const end = this.readId(at);
    this.hasId = this.bytes[at] !== LOWER_N;
    return end;
  }
}
