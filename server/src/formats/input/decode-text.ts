import { isAscii, isUtf8 } from 'node:buffer';
import { optional } from '../../kernel/optional.ts';
import { type ByteStream, Peekable } from '../streams/streams.ts';
import { FormatProblem } from './reading-limits.ts';
import type { ReadingNotes } from './reading-notes.ts';

/** Encodings that an owner can choose. A file itself may name any label of the WHATWG standard. */
export const encoding = optional.choice(
  [
    'utf-8',
    'utf-16le',
    'utf-16be',
    'windows-1250',
    'windows-1251',
    'windows-1252',
    'iso-8859-1',
    'iso-8859-2',
    'iso-8859-15',
    'macintosh',
    'shift_jis',
    'euc-jp',
    'gb18030',
    'big5',
    'euc-kr',
  ],
  {
    'x-label': 'Encoding',
    description:
      'default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option',
  },
);

/** The encoding of Excel and older shops in western countries. It can decode every file. */
const OLD_ENCODING = 'windows-1252';
const MARKS = [
  { encoding: 'utf-32', bytes: [0xff, 0xfe, 0, 0] },
  { encoding: 'utf-32', bytes: [0, 0, 0xfe, 0xff] },
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
];
const MARK_BYTES = 4;
/** An XML declaration has three short attributes. */
const DECLARATION_BYTES = 512;

export interface DecodeOptions {
  /** The encoding that the owner chose. A byte order mark in the file takes precedence. */
  readonly encoding?: string | undefined;
  /** The encoding that the sender of the file named. It is used only if the file is not UTF-8. */
  readonly charset?: string | undefined;
  /** Whether to read the encoding from `<?xml … encoding="…"?>`. */
  readonly isMarkup?: boolean;
}

/** Decodes bytes into text without a byte order mark. Notes the encoding, and whether the text is damaged. */
export async function* decodeText(
  bytes: ByteStream,
  notes: ReadingNotes,
  options: DecodeOptions = {},
): AsyncGenerator<string> {
  await using stream = new Peekable(bytes);
  const head = Buffer.concat(await stream.peek(options.isMarkup ? DECLARATION_BYTES : MARK_BYTES));
  const encoding = readMark(head) ?? options.encoding ?? (options.isMarkup && readDeclaration(head));
  yield* encoding ? decodeAs(encoding, stream, notes) : decodeByItself(stream, notes, options.charset);
}

function readMark(head: Buffer): string | undefined {
  const mark = MARKS.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte));
  if (mark?.encoding === 'utf-32')
    throw new FormatProblem('refused', 'The file is encoded in UTF-32. Please save it as UTF-8');
  return mark?.encoding;
}

/**
 * A declaration that can be read byte by byte cannot be in UTF-16. If it names UTF-8, it is ignored, because the bytes
 * themselves show UTF-8.
 */
function readDeclaration(head: Buffer): string | undefined {
  const declaration = /^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']/;
  const named = declaration.exec(head.toString('latin1'))?.[1]?.toLowerCase();
  return named === undefined || /^utf-?(8|16)/.test(named) ? undefined : named;
}

async function* decodeAs(encoding: string, bytes: ByteStream, notes: ReadingNotes) {
  const decoder = createDecoder(encoding);
  notes.found.encoding = decoder.encoding;
  const readPart = (chunk: Uint8Array) => decoder.decode(chunk, { stream: true });
  const read = decoder.encoding === 'utf-8' ? createUtf8Reader(decoder, notes) : readPart;
  for await (const chunk of bytes) {
    const text = read(chunk);
    if (text !== '') yield text;
  }
  const end = decoder.decode();
  if (end === '') return;
  notes.isDamaged = true;
  yield end;
}

/**
 * The first character beyond ASCII decides. If its bytes are valid UTF-8, the file is in UTF-8, and later mismatches
 * are damage. Otherwise the file is in the legacy encoding. A text in windows-1252 hardly ever begins with bytes that
 * happen to be a character of UTF-8 (such as `Ã¤`).
 */
async function* decodeByItself(bytes: ByteStream, notes: ReadingNotes, charset?: string) {
  const stream = bytes[Symbol.asyncIterator]();
  notes.found.encoding = 'utf-8';
  let first = Buffer.alloc(0);
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    const start = first.length > 0 ? 0 : endOfAscii(next.value);
    if (start > 0) yield Buffer.from(next.value.subarray(0, start)).toString('latin1');
    first = Buffer.concat([first, next.value.subarray(start)]);
    if (first.length >= lengthOfSequence(first[0])) break;
  }
  if (first.length === 0) return;
  const isFirstUtf8 = isUtf8(first.subarray(0, lengthOfSequence(first[0])));
  const encoding = isFirstUtf8 ? 'utf-8' : (otherThanUtf8(charset) ?? OLD_ENCODING);
  yield* decodeAs(encoding, resume(first, stream), notes);
}

function endOfAscii(chunk: Uint8Array): number {
  return isAscii(chunk) ? chunk.length : chunk.findIndex((byte) => byte > 0x7f);
}

/** The length of the character that begins with this byte. Without a byte, it is 5, which no sequence reaches. */
function lengthOfSequence(lead: number | undefined): number {
  if (lead === undefined) return 5;
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}

function otherThanUtf8(charset: string | undefined): string | undefined {
  if (charset === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(charset);
    return encoding.startsWith('utf-') ? undefined : encoding;
  } catch {
    // The sender's label is only a hint, so an unknown name is ignored.
    return undefined;
  }
}

async function* resume(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

function createDecoder(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch (cause) {
    throw new FormatProblem('refused', `The encoding ${encoding} is not known`, { cause });
  }
}

/** V8 decodes valid UTF-8 several times as fast as a TextDecoder, and stores Latin text in one byte per character. */
function createUtf8Reader(decoder: TextDecoder, notes: ReadingNotes): (chunk: Uint8Array) => string {
  const isSound = createUtf8Check();
  /** Whether the decoder has read the beginning and holds no part of a character. */
  let isBetween = false;
  return (chunk) => {
    if (isBetween && isUtf8(chunk)) return Buffer.from(chunk).toString();
    isBetween = (chunk.at(-1) ?? 0x80) < 0x80;
    if (!notes.isDamaged && !isSound(chunk)) notes.isDamaged = true;
    return decoder.decode(chunk, { stream: true });
  };
}

/** @returns a function that reports whether a chunk continues valid UTF-8; a chunk may end within a character */
function createUtf8Check(): (chunk: Uint8Array) => boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return (chunk) => {
    try {
      decoder.decode(chunk, { stream: true });
      return true;
    } catch {
      return false;
    }
  };
}
