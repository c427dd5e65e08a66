/** The door of streams: bytes with a look-ahead, files without a name, and zip archives, for sources and formats. */
export { type ByteStream, Peekable, peekBytes } from './peekable.ts';
export { openNamelessFile, readSpool, writeSpool } from './spool.ts';
export { openZip, type Zip, type ZipLimits } from './zip.ts';
