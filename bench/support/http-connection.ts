import { connect, type Socket } from 'node:net';

/** A persistent connection with one request at a time and almost no overhead. */
export interface HttpConnection {
  readonly isBusy: boolean;
  send(request: Buffer, answered: (status: number, body: string | undefined) => void): void;
  close(): void;
}

export interface ConnectionOptions {
  readonly address: string;
  /** Other bodies are counted and dropped. */
  readonly keepsBodies: boolean;
  onError(error: Error): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const READ_BYTES = 256 * 1024;

export async function openConnection({
  address,
  keepsBodies,
  onError,
}: ConnectionOptions): Promise<HttpConnection> {
  let head: Buffer = Buffer.alloc(0);
  let body: BodyReader | undefined;
  let status = 0;
  let kept: Buffer[] = [];
  let answered: ((status: number, body: string | undefined) => void) | undefined;
  const keep = keepsBodies ? (part: Buffer) => kept.push(Buffer.from(part)) : undefined;

  function read(bytes: Buffer): void {
    if (body === undefined) readHead(bytes);
    else readBody(bytes, body);
  }

  function readHead(chunk: Buffer): void {
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const end = head.indexOf(HEAD_END);
    if (end < 0) {
      head = Buffer.from(head);
      return;
    }
    const text = head.toString('latin1', 0, end);
    status = Number(text.slice(9, 12));
    body = chooseReader(text, keep);
    if (body === undefined) {
      onError(new Error(`an answer without a length: ${text}`));
      return;
    }
    const first = head.subarray(end + HEAD_END.length);
    head = Buffer.alloc(0);
    readBody(first, body);
  }

  function readBody(bytes: Buffer, reader: BodyReader): void {
    if (!reader(bytes)) return;
    const text = keepsBodies ? Buffer.concat(kept).toString() : undefined;
    const tell = answered;
    body = undefined;
    kept = [];
    answered = undefined;
    tell?.(status, text);
  }

  const socket = await open(address, read);
  socket.on('error', onError);
  socket.on('close', () => answered && onError(new Error('the server closed a connection')));
  return {
    get isBusy() {
      return answered !== undefined;
    },
    send(request, told) {
      answered = told;
      socket.write(request);
    },
    close() {
      socket.destroy();
    },
  };
}

/** Takes the next bytes of a body. @returns whether the body has ended */
type BodyReader = (bytes: Buffer) => boolean;
type Keep = (part: Buffer) => void;

/** @returns undefined for an answer that does not state its length */
function chooseReader(head: string, keep: Keep | undefined): BodyReader | undefined {
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) return readByLength(Number(length), keep);
  return /\r\ntransfer-encoding: chunked/i.test(head) ? readChunks(keep) : undefined;
}

function readByLength(length: number, keep: Keep | undefined): BodyReader {
  let missing = length;
  return (bytes) => {
    missing -= bytes.length;
    keep?.(bytes);
    return missing <= 0;
  };
}

const LINE_END = 10;
/** The line end after the bytes of a chunk. */
const CHUNK_END_BYTES = 2;

/** Chunks without trailers (RFC 9112 §7.1). */
function readChunks(keep: Keep | undefined): BodyReader {
  let line = '';
  /** The number of remaining bytes of the current chunk, including its line end. */
  let missing = 0;
  let isLast = false;

  function readSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_END, at);
    const next = end < 0 ? bytes.length : end + 1;
    line += bytes.toString('latin1', at, next);
    if (end >= 0) {
      const size = Number.parseInt(line, 16);
      isLast = size === 0;
      missing = size + CHUNK_END_BYTES;
      line = '';
    }
    return next;
  }

  function readPart(bytes: Buffer, at: number): number {
    const next = Math.min(bytes.length, at + missing);
    const left = missing - CHUNK_END_BYTES;
    if (left > 0) keep?.(bytes.subarray(at, Math.min(next, at + left)));
    missing -= next - at;
    return next;
  }

  return (bytes) => {
    for (let at = 0; at < bytes.length; ) {
      at = missing === 0 ? readSize(bytes, at) : readPart(bytes, at);
      if (isLast && missing === 0) return true;
    }
    return false;
  };
}

/** One buffer for all reads, so that no memory is allocated per answer. */
function open(address: string, read: (chunk: Buffer) => void): Promise<Socket> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback(length, buffer) {
          read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
          return true;
        },
      },
    });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
