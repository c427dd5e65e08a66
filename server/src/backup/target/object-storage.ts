/** Where the objects of a backup are stored, by names with slashes, each written completely or not at all. */
export interface ObjectPlace {
  /** Whether there is a place at all. */
  isThere(): Promise<boolean>;
  /** Makes the place; no other call does. */
  make(): Promise<void>;
  /** From then on a place where this object is missing or differs counts as vanished; `undefined`: any place is taken. */
  expectMark(name: string, bytes: Uint8Array | undefined): void;
  /** @returns the names that begin with the folder, in order. @param after only names behind this one */
  list(folder: string, after?: string): Promise<string[]>;
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** @param bytes pieces, each valid until the next is taken. @param isNew it must not exist. @returns its durable size; undefined: it existed */
  write(name: string, bytes: AsyncIterable<Uint8Array>, isNew?: boolean): Promise<number | undefined>;
  remove(name: string): Promise<void>;
}

/** The place that a backup was sent to is not there any more, or it holds another backup. */
export class VanishedTarget extends Error {
  override readonly name = 'VanishedTarget';
}
