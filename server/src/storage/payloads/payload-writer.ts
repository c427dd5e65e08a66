/** A payload on its way: written while it is received. */
export interface PayloadWriter {
  readonly name: string;
  /** Says what came so far, from its first byte on. */
  received(bytes: Uint8Array): void;
  /** Writes all of it. Durable when it returns; nothing is left when it fails. @throws storage_full */
  finish(bytes: Uint8Array): Promise<void>;
  /** Leaves nothing behind, unless `finish` was called; it may be later. Never rejects. */
  abandon(): Promise<void>;
}

/** Where the pieces of one payload go. */
export interface PieceTarget {
  write(piece: Uint8Array): Promise<void>;
  /** Makes it durable. */
  close(): Promise<void>;
  /** Removes what was written. */
  drop(): Promise<void>;
}

/** Smaller bodies are written at once when they are there: an open file or a packer costs more than it saves. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Writes piece by piece, one after another; `open` is called for the first. */
export function createPayloadWriter(name: string, open: () => Promise<PieceTarget>): PayloadWriter {
  let target: PieceTarget | undefined;
  /** Bytes that are written, or will be when `writing` is done. */
  let asked = 0;
  let writing: Promise<void> = Promise.resolve();
  let isFinished = false;

  function write(bytes: Uint8Array): void {
    const piece = bytes.subarray(asked);
    asked = bytes.length;
    writing = writing.then(async () => {
      target ??= await open();
      await target.write(piece);
    });
    // `finish` tells of it; nobody may wait for it yet.
    writing.catch(() => {});
  }

  async function drop(): Promise<void> {
    // What failed, `finish` has thrown; a file that stays is removed at the next start.
    await writing.catch(() => {});
    await target?.drop().catch(() => {});
    target = undefined;
  }

  return {
    name,
    received(bytes) {
      if (bytes.length - asked >= PIECE_BYTES) write(bytes);
    },
    async finish(bytes) {
      isFinished = true;
      write(bytes);
      try {
        await writing;
        await target?.close();
      } catch (error) {
        await drop();
        throw error;
      }
    },
    async abandon() {
      if (isFinished) return;
      writing = drop();
      asked = 0;
      await writing;
    },
  };
}
