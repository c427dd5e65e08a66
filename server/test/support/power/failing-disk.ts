import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { buildLayer } from './layer.ts';

const { ENOSPC, EIO, EROFS } = constants.errno;
/** The same numbers as in failing.c. */
const [WRITES, READS] = [1, 2];
const STALL = 2 ** 32 - 1;
const PAGE_BYTES = 4 * 4 + 4096;

/** The effects of faults on calls. */
export const FAULTS = {
  full: { error: ENOSPC, calls: WRITES },
  broken: { error: EIO, calls: WRITES },
  'read-only': { error: EROFS, calls: WRITES },
  unreadable: { error: EIO, calls: WRITES | READS },
  stalled: { error: STALL, calls: WRITES },
} as const;
export type Fault = keyof typeof FAULTS;

/** A disk that fails on demand under processes started with its settings. */
export class FailingDisk {
  readonly settings: Record<string, string>;
  private readonly page: string;

  /** @param page a file for this disk alone, shared with failing.c */
  constructor(page: string) {
    this.page = page;
    this.write(Buffer.alloc(PAGE_BYTES), 0);
    this.settings = { LD_PRELOAD: buildLayer('failing'), RELATA_TEST_FAULT: page, UV_USE_IO_URING: '0' };
  }

  /** @param pattern of paths, for fnmatch(3) with FNM_EXTMATCH */
  fail(fault: Fault, pattern: string): void {
    const { error, calls } = FAULTS[fault];
    const rest = Buffer.alloc(PAGE_BYTES - 4);
    rest.writeUInt32LE(calls, 0);
    rest.write(pattern, 8);
    this.write(rest, 4);
    const begin = Buffer.alloc(4);
    begin.writeUInt32LE(error, 0);
    this.write(begin, 0);
  }

  mend(): void {
    this.write(Buffer.alloc(4), 0);
  }

  /** The number of calls hit by the current or last fault. */
  countHits(): number {
    return readFileSync(this.page).readUInt32LE(8);
  }

  private write(bytes: Buffer, index: number): void {
    const file = openSync(this.page, index === 0 && bytes.length === PAGE_BYTES ? 'w' : 'r+');
    writeSync(file, bytes, 0, bytes.length, index);
    closeSync(file);
  }
}
