/**
 * Fetches by host name in a separate network. `pinned-dns.test.ts` starts it where loopback has public addresses, port
 * 53 is free and the system resolver uses the name server below. Its arguments are these addresses and then URLs. It
 * prints the result of each fetch as a line of JSON.
 */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { isIPv4 } from 'node:net';
import { allowAddresses } from '../../src/outbound/outbound.ts';
import { http } from '../../src/pipelines/sources/http-source.ts';

const [PUBLIC_4 = '', PUBLIC_6 = '', ...urls] = process.argv.slice(2);
const PORT = 8080;

/** The records of a name: addresses, or `=` and another name. Each query has one list, in order. */
const ZONE: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'plain.example': [[PUBLIC_4, PUBLIC_6]],
  'six.example': [[PUBLIC_6]],
  'rebind.example': [[PUBLIC_4], ['127.0.0.1']],
  'turn.example': [[PUBLIC_4], ['127.0.0.1']],
  'loopback.example': [['127.0.0.1']],
  'mixed.example': [[PUBLIC_4, '127.0.0.1']],
  'mixed-six.example': [[PUBLIC_4, '::1']],
  'mixed-four.example': [[PUBLIC_6, '10.0.0.1']],
  'mapped.example': [['::ffff:127.0.0.1']],
  'compatible.example': [['::127.0.0.1']],
  'unspecified.example': [['0.0.0.0']],
  'unspecified-six.example': [['::']],
  'nat64.example': [['64:ff9b::7f00:1']],
  'six-to-four.example': [['2002:7f00:1::']],
  'metadata.example': [['169.254.169.254']],
  'alias.example': [['=loopback.example']],
};

/** All queries: type and name. */
const queries: string[] = [];

/** @returns the addresses of a name for one type of question */
function findAddresses(name: string, type: number): readonly string[] {
  const times = queries.filter((query) => query === `${type} ${name}`).length;
  queries.push(`${type} ${name}`);
  const lists = ZONE[name] ?? [];
  const records = lists[Math.min(times, lists.length - 1)] ?? [];
  const [first = ''] = records;
  if (first.startsWith('=')) return findAddresses(first.slice(1), type);
  return records.filter((address) => isIPv4(address) === (type === 1));
}

function answerQuestion(question: Buffer): Buffer {
  const labels: string[] = [];
  let offset = 12;
  for (let length = question[offset] ?? 0; length > 0; length = question[offset] ?? 0) {
    labels.push(
      question
        .subarray(offset + 1, offset + 1 + length)
        .toString('latin1')
        .toLowerCase(),
    );
    offset += length + 1;
  }
  const type = question.readUInt16BE(offset + 1);
  const records = findAddresses(labels.join('.'), type).map((address) => {
    const bytes = toBytes(address);
    // The queried name, its type, class IN, and a TTL of 0 s.
    const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]);
    return Buffer.concat([head, bytes]);
  });
  const answer = Buffer.concat([question.subarray(0, offset + 5), ...records]);
  answer.writeUInt16BE(0x8180, 2);
  answer.writeUInt16BE(records.length, 6);
  answer.writeUInt32BE(0, 8);
  return answer;
}

function toBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail].map((part) => part.split(':').filter(Boolean));
  const zeros = new Array<string>(8 - (before?.length ?? 0) - (after?.length ?? 0)).fill('0');
  const words = [...(before ?? []), ...zeros, ...(after ?? [])].map((word) => Number.parseInt(word, 16));
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 255]));
}

/** Answers with the address that the connection reached; `/turn` redirects to the same name. */
const web = createServer((request, response) => {
  const { url, headers, socket } = request;
  if (url === '/turn') response.writeHead(302, { location: '/' });
  if (url === '/elsewhere') response.writeHead(302, { location: `http://loopback.example:${PORT}/` });
  response.end(`${headers.host} at ${socket.localAddress}`);
});

const settings = {
  importDir: undefined,
  tempDir: '',
  allow: [],
  allows: allowAddresses([]),
  userAgent: 'Relata/test',
  connectMs: 60_000,
  idleMs: 60_000,
  wholeMs: 60_000,
  maxPackedBytes: 1_024,
  maxUnpackedBytes: 1_024,
};

async function fetchText(url: string): Promise<string> {
  const opened = await http.open({ type: 'http', url }, { projectId: 1 }, settings);
  const chunks = await Array.fromAsync(opened?.files[0]?.bytes ?? []);
  return Buffer.concat(chunks).toString();
}

const names = createSocket('udp4', (question, { port, address }) => {
  names.send(answerQuestion(question), port, address);
});
await new Promise<void>((resolve) => names.bind(53, '127.0.0.1', resolve));
await new Promise<void>((resolve) => web.listen(PORT, '::', resolve));
for (const url of urls) {
  const before = queries.length;
  const outcome = await fetchText(url).catch((error: Error) => error.message);
  process.stdout.write(`${JSON.stringify({ url, outcome, asked: queries.slice(before) })}\n`);
}
process.exit();
