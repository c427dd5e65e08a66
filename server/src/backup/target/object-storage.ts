/** A storage of the objects of a backup, by names with slashes, each written completely or not at all. */
export interface ObjectStorage {
  /** Whether the storage exists. */
  isThere(): Promise<boolean>;
  /** Makes the storage; no other call does. */
  make(): Promise<void>;
  /** From then on a storage where this object is missing or differs counts as vanished; `undefined`: any storage is accepted. */
  expectMark(name: string, bytes: Uint8Array | undefined): void;
  /** @returns the names that begin with the folder, in order. @param after only names behind this one */
  list(folder: string, after?: string): Promise<string[]>;
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** @param bytes pieces, each valid until the next is taken. @param isNew it must not exist. @returns its durable size; undefined: it existed */
  write(name: string, bytes: AsyncIterable<Uint8Array>, isNew?: boolean): Promise<number | undefined>;
  remove(name: string): Promise<void>;
}

/** The storage that a backup was sent to is not there any more, or it holds another backup. */
export class VanishedTarget extends Error {
  override readonly name = 'VanishedTarget';
}
