/**
 * A storage for the objects of a backup. Objects have names with slashes, and each is written completely or not at all.
 */
export interface ObjectStorage {
  /** Whether the storage exists. */
  isThere(): Promise<boolean>;
  /** Makes the storage. No other call makes it. */
  make(): Promise<void>;
  /**
   * From then on, a storage in which this object is missing or differs counts as vanished. `undefined` accepts any
   * storage.
   */
  expectMark(name: string, bytes: Uint8Array | undefined): void;
  /** @returns the names that begin with the folder, in order. @param after return only names after this one */
  list(folder: string, after?: string): Promise<string[]>;
  read(name: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * @param bytes pieces, each valid until the next is taken
   * @param isNew whether the object must not exist yet
   * @returns the durable size of the object; undefined: it existed
   */
  write(name: string, bytes: AsyncIterable<Uint8Array>, isNew?: boolean): Promise<number | undefined>;
  remove(name: string): Promise<void>;
}

/** The storage to which a backup was sent no longer exists, or it holds another backup. */
export class VanishedTarget extends Error {
  override readonly name = 'VanishedTarget';
}
