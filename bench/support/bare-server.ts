/**
 * A bare node:http server that sends answers from memory and reads all bodies. It is started as a child, receives
 * the answers and returns its address.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from './child-process.ts';

let answers: readonly Buffer[] = [];
let next = 0;

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const answer = answers[next++ % answers.length] ?? Buffer.alloc(0);
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': answer.length,
    });
    response.end(answer);
    return;
  }
  request.resume();
  request.on('end', () => response.end('{"status":"success"}'));
});
server.listen(0, '127.0.0.1');

answerParent<readonly Uint8Array[]>((given) => {
  answers = given.map((bytes) => Buffer.from(bytes));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
