import { connect, type Socket } from 'node:net';

/** One kept connection that has one request under way at a time and spends next to nothing on it. */
export interface HttpConnection {
  readonly isBusy: boolean;
  send(request: Buffer, answered: (status: number, body: string | undefined) => void): void;
  close(): void;
}

export interface ConnectionOptions {
  readonly address: string;
  /** Otherwise bodies are counted and thrown away. */
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
  let missing = -1;
  let status = 0;
  let kept: Buffer[] = [];
  let answered: ((status: number, body: string | undefined) => void) | undefined;

  function read(chunk: Buffer): void {
    if (missing >= 0) readBody(chunk);
    else readHead(chunk);
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
    missing = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
    if (Number.isNaN(missing)) {
      onError(new Error(`an answer without a length: ${text}`));
      return;
    }
    const body = head.subarray(end + HEAD_END.length);
    head = Buffer.alloc(0);
    readBody(body);
  }

  function readBody(chunk: Buffer): void {
    missing -= chunk.length;
    if (keepsBodies) kept.push(Buffer.from(chunk));
    if (missing > 0) return;
    const body = keepsBodies ? Buffer.concat(kept).toString() : undefined;
    const tell = answered;
    missing = -1;
    kept = [];
    answered = undefined;
    tell?.(status, body);
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

/** One buffer for everything that is read: nothing is allocated for an answer. */
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
