/** A successful call of the process, as recorded by the layer (unsynced.c). */
export interface JournalRecord {
  readonly kind: RecordKind;
  readonly inode: bigint;
  /** The offset of a write, or the size after a truncation. */
  readonly position: number;
  readonly from: string;
  readonly to: string;
  readonly data: Buffer;
  /** The length of the record in the journal. */
  readonly length: number;
}

/** In the order of the numbers in unsynced.c. */
const KINDS = ['', 'open', 'create', 'write', 'truncate', 'sync', 'rename', 'unlink', 'mkdir'] as const;

export type RecordKind = Exclude<(typeof KINDS)[number], ''>;

const HEAD_BYTES = 32;

/** The last record may be incomplete, as the process was killed. */
export function* readJournal(journal: Buffer): Generator<JournalRecord> {
  for (let position = 0; position + HEAD_BYTES <= journal.length; ) {
    const lengths = [4, 8, 12].map((offset) => journal.readUInt32LE(position + offset));
    const [from, to, data] = takeParts(journal, position + HEAD_BYTES, lengths);
    const end = position + HEAD_BYTES + lengths.reduce((sum, length) => sum + length);
    if (end > journal.length) return;
    yield {
      kind: KINDS[journal.readUInt32LE(position)] as RecordKind,
      inode: journal.readBigUInt64LE(position + 16),
      position: Number(journal.readBigUInt64LE(position + 24)),
      from: String(from),
      to: String(to),
      data: data as Buffer,
      length: end - position,
    };
    position = end;
  }
}

function takeParts(journal: Buffer, start: number, lengths: readonly number[]): Buffer[] {
  let position = start;
  return lengths.map((length) => {
    position += length;
    return journal.subarray(position - length, position);
  });
}
