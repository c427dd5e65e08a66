import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FailureBody } from '../answers/answers.ts';
import type { Server } from '../http.ts';
import { countUnderWay } from './connections.ts';
import { createRefusalLog } from './request-log.ts';

/** So long a sender may take to read the answer. */
const LINGER_MS = 1_000;
/**
 * Answers requests that Node's parser refused, which never reach a route, in the same shape. Nobody has to be known for such a
 * request: neither its connection nor its line in the log is for long.
 */
export function createBrokenRequestHandler() {
  const logRefusal = createRefusalLog('request refused by the parser');
  return function answerBrokenRequest(this: Server, error: Error & { code?: string }, socket: Socket): void {
    if (socket.destroyed) return;
    const requestId = randomUUID();
    logRefusal(this.log, { requestId, code: error.code });
    // An answer here would be taken for that of the request before.
    if (!socket.writable || countUnderWay(socket) > 0) return void socket.destroy();
    const { code, reason, message } = describe(error);
    const failure: FailureBody = { status: 'failure', code, reason, message, requestId };
    const body = JSON.stringify(failure);
    const head = `HTTP/1.1 ${code} ${message}\r\nContent-Type: application/json; charset=utf-8`;
    socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    // Its other end need not close.
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

function describe({ code }: { code?: string }): Pick<FailureBody, 'code' | 'reason' | 'message'> {
  if (code === 'HPE_HEADER_OVERFLOW')
    return { code: 431, reason: 'headers_too_large', message: 'Request Header Fields Too Large' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { code: 408, reason: 'request_timeout', message: 'Request Timeout' };
  return { code: 400, reason: 'bad_request', message: 'Bad Request' };
}
