// runs: test, own
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { allowAddresses } from '../../outbound/outbound.ts';
import { http } from './http-source.ts';
import { type OpenSettings, SourceProblem, type SourceStamp } from './source.ts';

const MIB = 1024 * 1024;
const CSV = Buffer.from('sku;name\nA1;Drill\n');

/** For tests only: names shop.example, valid for a hundred years. */
const TLS_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgfg/xeMFr3zB2941h
0zRdfK6kM6pwyYBG/AtTn+OvArGhRANCAARBR5MbVi/qo08BXUk78MFQOAaApTLK
P6+FEMmanlfdDdX6czU9MVLhGf9omunvrFDb1sltcK+H1Y0L5NvipaBz
-----END PRIVATE KEY-----`;
const TLS_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnTCCAUSgAwIBAgIUSDdQdSuHvd8OWL2wU6dIdFKPBQYwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc2hvcC5leGFtcGxlMCAXDTI2MTEyMTE0MzM1MloYDzIxMjYx
MDI4MTQzMzUyWjAXMRUwEwYDVQQDDAxzaG9wLmV4YW1wbGUwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAARBR5MbVi/qo08BXUk78MFQOAaApTLKP6+FEMmanlfdDdX6
czU9MVLhGf9omunvrFDb1sltcK+H1Y0L5NvipaBzo2wwajAdBgNVHQ4EFgQULksv
BPh5jjt0Xwb62NrcyOv/HnYwHwYDVR0jBBgwFoAULksvBPh5jjt0Xwb62NrcyOv/
HnYwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAOggxzaG9wLmV4YW1wbGUwCgYI
KoZIzj0EAwIDRwAwRAIgSAisLj0zL+odF01caAEo75kWCEFmaglV5T23HYX7tdkC
ICXjHUVbcH9oOd60+iJqMt59F80F3seOzujwXHjbPvQ1
-----END CERTIFICATE-----`;

interface Web {
  readonly port: number;
  readonly requests: IncomingMessage[];
}

/** A server on loopback. `answer` gets the number of the request, from 0. */
async function serve(
  t: TestContext,
  answer: (response: ServerResponse, request: IncomingMessage, requestIndex: number) => void,
  isSecure = false,
): Promise<Web> {
  const requests: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    response.on('error', () => {});
    answer(response, request, requests.length - 1);
  };
  const tls = { key: TLS_KEY, cert: TLS_CERTIFICATE };
  const server = isSecure ? createSecureServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

/** Answers byte by byte, as no HTTP server would. */
async function serveRaw(t: TestContext, answer: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Every name resolves to loopback, the only allowed address. */
const settings: OpenSettings = {
  importDir: undefined,
  tempDir: '',
  allow: [],
  allows: allowAddresses(['127.0.0.1']),
  resolve: async () => [{ address: '127.0.0.1' }],
  userAgent: 'Relata/test',
  connectMs: 2_000,
  idleMs: 2_000,
  wholeMs: 20_000,
  maxPackedBytes: 8 * MIB,
  maxUnpackedBytes: 16 * MIB,
};

interface Source {
  readonly url: string;
  readonly headers?: Record<string, string>;
}

const openHttpSource = (source: Source, with_: OpenSettings, last?: SourceStamp) =>
  http.open({ type: 'http', ...source }, { projectId: 1, last }, with_);

interface Fetch extends Partial<OpenSettings>, Pick<Source, 'headers'> {
  readonly last?: SourceStamp | undefined;
}

async function fetchSource(url: string, { headers, last, ...changed }: Fetch = {}) {
  const source = { url, ...(headers && { headers }) };
  const opened = await openHttpSource(source, { ...settings, ...changed }, last);
  if (opened === undefined) return undefined;
  const [file] = opened.files;
  assert.ok(file);
  const bytes = Buffer.concat(await Array.fromAsync(file.bytes));
  return { file, bytes, stamp: opened.stamp };
}

const isProblem = (reason: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SourceProblem, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, text);
  return true;
};

const sendCsv = (response: ServerResponse) =>
  response.setHeader('content-type', 'text/csv; charset="ISO-8859-1"').end(CSV);

test('a file is fetched with one GET, with the headers of the source and the host of the URL', async (t) => {
  const { port, requests } = await serve(t, sendCsv);
  const fetched = await fetchSource(`http://Shop.Example:${port}/a/export.csv?key=1#top`, {
    headers: { 'X-Token': 'secret', Accept: 'text/csv' },
  });
  assert.deepEqual(fetched?.bytes, CSV);
  assert.equal(fetched?.file.name, 'export.csv');
  assert.equal(fetched?.file.charset, 'iso-8859-1');
  assert.equal(fetched?.file.sizeBytes, CSV.length);
  assert.equal(requests.length, 1);
  const [request] = requests;
  assert.equal(request?.method, 'GET');
  assert.equal(request?.url, '/a/export.csv?key=1');
  assert.equal(request?.headers.host, `shop.example:${port}`);
  assert.equal(request?.headers['x-token'], 'secret');
  assert.equal(
    request?.headers.accept,
    'text/csv',
    'a header of the source overrides the one of the service',
  );
  assert.equal(request?.headers['user-agent'], 'Relata/test');
});

test('a run skips a file that has not changed since the last run', async (t) => {
  const stamped = (response: ServerResponse) =>
    response.setHeader('etag', '"v1"').setHeader('last-modified', 'Wed, 21 Oct 2026 07:28:00 GMT');
  const { port, requests } = await serve(t, (response, request) => {
    if (request.headers['if-none-match'] === '"v1"') stamped(response).writeHead(304).end();
    else stamped(response).end(CSV);
  });
  const first = await fetchSource(`http://shop.example:${port}/`);
  assert.deepEqual(first?.stamp, { etag: '"v1"', lastModified: 'Wed, 21 Oct 2026 07:28:00 GMT' });
  assert.equal(await fetchSource(`http://shop.example:${port}/`, { last: first?.stamp }), undefined);
  assert.equal(requests[1]?.headers['if-modified-since'], 'Wed, 21 Oct 2026 07:28:00 GMT');
});

test('a file with the same ETag is skipped, even if the server ignores conditions', async (t) => {
  const { port } = await serve(t, (response, _, requestIndex) =>
    response.setHeader('etag', requestIndex < 2 ? '"v1"' : '"v2"').end(CSV),
  );
  const first = await fetchSource(`http://shop.example:${port}/`);
  assert.equal(await fetchSource(`http://shop.example:${port}/`, { last: first?.stamp }), undefined);
  const third = await fetchSource(`http://shop.example:${port}/`, { last: first?.stamp });
  assert.deepEqual(third?.stamp, { etag: '"v2"' });
});

test('an unrequested 304 is refused, and a stamp that is not a valid header is dropped', async (t) => {
  const { port } = await serve(t, (response, _, requestIndex) =>
    requestIndex === 0
      ? response.writeHead(304).end()
      : response.setHeader('etag', `"${'x'.repeat(2_000)}"`).end(CSV),
  );
  await assert.rejects(fetchSource(`http://shop.example:${port}/`), isProblem('status', /answered 304/));
  assert.equal((await fetchSource(`http://shop.example:${port}/`))?.stamp, undefined);
});

for (const status of [201, 204, 206, 300, 400, 401, 403, 404, 410, 429, 500, 503]) {
  test(`a source that answers ${status} is not read, and its refusal contains no secret`, async (t) => {
    const { port } = await serve(t, (response) => response.writeHead(status).end());
    await assert.rejects(
      fetchSource(`http://shop.example:${port}/private?token=hidden`, { headers: { 'X-Token': 'hidden' } }),
      (error) => {
        isProblem('status', new RegExp(`^shop\\.example:${port} answered ${status}`))(error);
        return !JSON.stringify({ ...(error as object), text: String(error) }).includes('hidden');
      },
    );
  });
}

test('a header that cannot be sent, or that would reach another host, is refused without its value', async () => {
  const wrongHeaders: Record<string, string>[] = [
    { 'X-Token': 'hidden\r\nHost: inner' },
    { Host: 'hidden' },
    { 'a b': 'hidden' },
  ];
  for (const headers of wrongHeaders) {
    await assert.rejects(fetchSource('http://shop.example/', { headers }), (error) => {
      isProblem('url', /header/)(error);
      return !String(error).includes('hidden');
    });
  }
});

test('a page of HTML passes through, because the reader judges it', async (t) => {
  const { port } = await serve(t, (response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html>'),
  );
  assert.equal((await fetchSource(`http://shop.example:${port}/x`))?.file.sizeBytes, 15);
});

const spellings = [
  ...['http://127.0.0.2/', 'http://127.2/', 'http://2130706434/', 'http://0x7f.0.0.2/', 'http://0x7f000002/'],
  ...[
    'http://0177.0.0.2/',
    'http://017700000002/',
    'http://127.0.0.2./',
    'http://127。0。0。2/',
    'http://１２７.0.0.2/',
  ],
  ...[
    'http://0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.2]/',
  ],
  ...['http://[::ffff:7f00:2]/', 'http://[64:ff9b::7f00:2]/', 'http://[2002:7f00:2::]/', 'http://[fe80::1]/'],
  ...[
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://10.0.0.1:6379/',
    'https://192.168.1.1/',
  ],
];
for (const url of spellings) {
  test(`${url} is refused without a connection`, async () => {
    const resolve = () => assert.fail('an IP address is not resolved');
    await assert.rejects(fetchSource(url, { resolve }), isProblem('address', /only public addresses/));
  });
}

const wrong: [string, RegExp][] = [
  ['ftp://shop.example/', /begins with http/],
  ['file:///etc/passwd', /not valid/],
  ['data:text/csv,sku', /not valid|begins with/],
  ['shop.example/a.csv', /not valid|begins with/],
  ['http://', /not valid/],
  ['http://user@shop.example/', /no user name/],
  ['http://user:secret@shop.example/', /no user name/],
  ['http://[fe80::1%25eth0]/', /not valid/],
  ['http://1.2.3.4.5/', /not valid/],
  ['http://256.1.1.1/', /not valid/],
  [`http://shop.example/${'a'.repeat(4_096)}`, /not valid/],
];
for (const [url, text] of wrong) {
  test(`${url.slice(0, 60)} is not a valid URL of a source`, async () => {
    await assert.rejects(fetchSource(url), isProblem('url', text));
  });
}

test('a name is refused if any of its addresses is forbidden', async (t) => {
  const { port, requests } = await serve(t, sendCsv);
  for (const hidden of ['10.1.2.3', '::1', '169.254.169.254', 'fe80::1%eth0', 'nonsense']) {
    const resolve = async () => [{ address: '127.0.0.1' }, { address: hidden }];
    await assert.rejects(fetchSource(`http://shop.example:${port}/`, { resolve }), (error) => {
      isProblem('address', /^shop\.example is refused/)(error);
      assert.ok(!(error as SourceProblem).message.includes(hidden), 'the refusal contains no inner address');
      return (error as SourceProblem).note?.includes(hidden) === true;
    });
  }
  assert.equal(requests.length, 0);
});

test('connects to the address that was checked, whatever the name resolves to a moment later', async (t) => {
  let reached: string | undefined;
  const { port } = await serve(t, (response, request) => {
    reached = request.socket.localAddress;
    sendCsv(response);
  });
  const answers = ['127.0.0.1', '127.0.0.9', '127.0.0.9'];
  const requestedPaths: string[] = [];
  const resolve = async (host: string) => {
    requestedPaths.push(host);
    return [{ address: answers[requestedPaths.length - 1] ?? '127.0.0.9' }];
  };
  const fetched = await fetchSource(`http://rebind.example:${port}/`, { resolve });
  assert.deepEqual(fetched?.bytes, CSV);
  assert.deepEqual(requestedPaths, ['rebind.example'], 'resolved once');
  assert.equal(reached, '127.0.0.1');
  await assert.rejects(
    fetchSource(`http://rebind.example:${port}/`, { resolve }),
    isProblem('address', /loopback/),
  );
});

test('each redirect is resolved and checked again', async (t) => {
  const { port, requests } = await serve(t, (response) =>
    response.writeHead(302, { location: '/again' }).end(),
  );
  let requestCount = 0;
  const resolve = async () => [{ address: requestCount++ === 0 ? '127.0.0.1' : '10.0.0.1' }];
  await assert.rejects(
    fetchSource(`http://rebind.example:${port}/`, { resolve }),
    isProblem('address', /private/),
  );
  assert.equal(requests.length, 1);
});

const escapes = [
  'http://127.0.0.2/',
  'http://[::1]:1/',
  'http://169.254.169.254/',
  '//10.0.0.1/',
  'http://2130706434/',
];
for (const location of escapes) {
  test(`a redirect to ${location} is refused`, async (t) => {
    const { port } = await serve(t, (response) => response.writeHead(307, { location }).end());
    await assert.rejects(
      fetchSource(`http://shop.example:${port}/`),
      isProblem('address', /only public addresses/),
    );
  });
}

test('a redirect to an invalid source is refused', async (t) => {
  const locations = ['ftp://shop.example/', 'file:///etc/passwd', 'http://u:p@shop.example/', 'http://[::1'];
  const { port } = await serve(t, (response, _, requestIndex) =>
    response.writeHead(302, { location: locations[requestIndex] ?? '' }).end(),
  );
  for (const _ of [...locations, ''])
    await assert.rejects(fetchSource(`http://shop.example:${port}/`), (error) => {
      assert.ok(error instanceof SourceProblem && ['url', 'redirect'].includes(error.reason), String(error));
      return true;
    });
});

test('five redirects are followed and a sixth is not', async (t) => {
  const { port, requests } = await serve(t, (response, { url = '' }) => {
    const left = Number(url.slice(1));
    if (left === 0) sendCsv(response);
    else response.writeHead(302, { location: `/${left - 1}` }).end('moved');
  });
  assert.deepEqual((await fetchSource(`http://shop.example:${port}/5`))?.bytes, CSV);
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/6`),
    isProblem('redirect', /more than 5 times/),
  );
  assert.equal(requests.length, 12);
});

test('a redirect in a loop ends', async (t) => {
  const { port, requests } = await serve(t, (response) => response.writeHead(301, { location: '/' }).end());
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/`),
    isProblem('redirect', /more than 5 times/),
  );
  assert.equal(requests.length, 6);
});

test('the headers of a source are sent only to its origin, and do not return with a later redirect', async (t) => {
  const other = await serve(t, (response) =>
    response.writeHead(302, { location: `http://shop.example:${home.port}/end` }).end(),
  );
  const home = await serve(t, (response, { url }) => {
    if (url === '/end') sendCsv(response);
    else
      response
        .writeHead(308, { location: url === '/' ? '/same' : `http://other.example:${other.port}/` })
        .end();
  });
  await fetchSource(`http://shop.example:${home.port}/`, {
    headers: { Authorization: 'Bearer secret', 'X-Token': 'x' },
  });
  const sent = (request: IncomingMessage | undefined) => [
    request?.headers.authorization,
    request?.headers['x-token'],
  ];
  assert.deepEqual(sent(home.requests[0]), ['Bearer secret', 'x']);
  assert.deepEqual(sent(home.requests[1]), ['Bearer secret', 'x'], 'same origin');
  assert.deepEqual(sent(other.requests[0]), [undefined, undefined]);
  assert.deepEqual(sent(home.requests[2]), [undefined, undefined]);
});

test('another port is another origin', async (t) => {
  const other = await serve(t, sendCsv);
  const { port } = await serve(t, (response) =>
    response.writeHead(302, { location: `http://shop.example:${other.port}/` }).end(),
  );
  await fetchSource(`http://shop.example:${port}/`, { headers: { 'X-Token': 'secret' } });
  assert.equal(other.requests[0]?.headers['x-token'], undefined);
});

test('TLS checks the name of the URL, not the address', async (t) => {
  const usual = getCACertificates('default');
  t.after(() => setDefaultCACertificates(usual));
  const { port } = await serve(t, sendCsv, true);
  await assert.rejects(
    fetchSource(`https://shop.example:${port}/`),
    isProblem('connection', /signed itself/),
  );
  setDefaultCACertificates([...usual, TLS_CERTIFICATE]);
  assert.deepEqual((await fetchSource(`https://shop.example:${port}/`))?.bytes, CSV);
  assert.deepEqual((await fetchSource(`https://shop.example.:${port}/`))?.bytes, CSV, 'a dot at the end');
  await assert.rejects(
    fetchSource(`https://other.example:${port}/`),
    isProblem('connection', /for another name/),
  );
  await assert.rejects(
    fetchSource(`https://127.0.0.1:${port}/`),
    isProblem('connection', /for another name/),
  );
});

test('http may redirect to https, and https never to http', async (t) => {
  const usual = getCACertificates('default');
  t.after(() => setDefaultCACertificates(usual));
  setDefaultCACertificates([...usual, TLS_CERTIFICATE]);
  const secure = await serve(
    t,
    (response, { url }) => {
      if (url === '/file') sendCsv(response);
      else response.writeHead(302, { location: `http://shop.example:${plain.port}/` }).end();
    },
    true,
  );
  const plain = await serve(t, (response) =>
    response.writeHead(302, { location: `https://shop.example:${secure.port}/file` }).end(),
  );
  assert.deepEqual((await fetchSource(`http://shop.example:${plain.port}/`))?.bytes, CSV);
  const down = fetchSource(`https://shop.example:${secure.port}/`);
  await assert.rejects(down, isProblem('redirect', /from https to http/));
});

const text = Buffer.from(Array.from({ length: 3_000 }, (_, index) => `${index};${index * index}\n`).join(''));
const encodings: [string, Buffer][] = [
  ['gzip', gzipSync(text)],
  ['x-gzip', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['identity', text],
  ['gzip, identity', gzipSync(text)],
  ['br, GZIP', gzipSync(brotliCompressSync(text))],
];
for (const [encoding, bytes] of encodings) {
  test(`the encoding ${encoding} is undone, and a truncated answer is never accepted as complete`, async (t) => {
    const { port } = await serve(t, (response, _, requestIndex) => {
      response.setHeader('content-encoding', encoding);
      response.end(requestIndex === 0 ? bytes : bytes.subarray(0, -9));
    });
    assert.deepEqual((await fetchSource(`http://shop.example:${port}/`))?.bytes, text);
    if (encoding !== 'identity')
      await assert.rejects(
        fetchSource(`http://shop.example:${port}/`),
        isProblem('broken_off', /ends too early/),
      );
  });
}

test('an unknown, wrong or endlessly repeated encoding is refused', async (t) => {
  const headers = ['compress', 'gzip', 'gzip, gzip, gzip'];
  const { port } = await serve(t, (response, _, requestIndex) =>
    response.setHeader('content-encoding', headers[requestIndex] ?? '').end(text),
  );
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/`),
    isProblem('damaged', /has the unknown encoding compress/),
  );
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/`),
    isProblem('damaged', /answer is damaged/),
  );
  await assert.rejects(fetchSource(`http://shop.example:${port}/`), isProblem('damaged', /too many times/));
});

test('a bomb in an encoding is stopped', async (t) => {
  const bomb = gzipSync(Buffer.alloc(15 * MIB));
  const large = zstdCompressSync(Buffer.from('0123456789abcdef'.repeat(2 * MIB)));
  const { port } = await serve(t, (response, _, requestIndex) =>
    response
      .setHeader('content-encoding', requestIndex === 0 ? 'gzip' : 'zstd')
      .end(requestIndex === 0 ? bomb : large),
  );
  await assert.rejects(fetchSource(`http://shop.example:${port}/`), isProblem('too_large', /200 times/));
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/`),
    isProblem('too_large', /200 times|16 MiB/),
  );
});

test('a file that is announced as too large is refused before it is read', async (t) => {
  let sent = 0;
  const { port } = await serve(t, (response) => {
    response.setHeader('content-length', 10_000 * MIB);
    sent = 1;
    response.write('x');
  });
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/`),
    isProblem('too_large', /larger than 8 MiB/),
  );
  assert.equal(sent, 1);
});

test('of an answer of 10 GB without a length, only the bytes up to the limit are read, in little memory', async (t) => {
  const piece = Buffer.alloc(64 * 1024, 'sku;name\n');
  let written = 0;
  const { port } = await serve(t, (response) => {
    const write = () => {
      let isRoom = true;
      while (isRoom && written < 10_000 * MIB && !response.destroyed) {
        isRoom = response.write(piece);
        written += piece.length;
      }
    };
    response.on('drain', write);
    write();
  });
  const before = process.memoryUsage().rss;
  const opened = await openHttpSource(
    { url: `http://shop.example:${port}/` },
    { ...settings, maxPackedBytes: 256 * MIB },
  );
  let read = 0;
  const reading = (async () => {
    for await (const chunk of opened?.files[0]?.bytes ?? []) read += chunk.length;
  })();
  await assert.rejects(reading, isProblem('too_large', /larger than 256 MiB/));
  assert.ok(read <= 256 * MIB && written < 300 * MIB);
  assert.ok(process.memoryUsage().rss - before < 150 * MIB);
});

test('a connection that breaks off before the announced length is an error', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\n';
  const endings: [string, RegExp][] = [
    [`${head}content-length: 100\r\n\r\nsku;name\n`, /after 9 of 100 bytes/],
    [`${head}transfer-encoding: chunked\r\n\r\n9\r\nsku;name\n\r\n`, /after 9 bytes/],
    [`${head}transfer-encoding: chunked\r\n\r\n9\r\nsku;name\n\r\nzz\r\n`, /broke off after/],
  ];
  for (const [answer, text] of endings) {
    const port = await serveRaw(t, (socket) => socket.end(answer));
    await assert.rejects(fetchSource(`http://shop.example:${port}/`), isProblem('broken_off', text));
    const resetting = await serveRaw(t, (socket) => socket.write(answer, () => socket.resetAndDestroy()));
    await assert.rejects(fetchSource(`http://shop.example:${resetting}/`), SourceProblem);
  }
});

test('an answer without a length ends with the connection, and has an unknown size', async (t) => {
  const port = await serveRaw(t, (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nsku;name\n'));
  const fetched = await fetchSource(`http://shop.example:${port}/`);
  assert.equal(String(fetched?.bytes), 'sku;name\n');
  assert.equal(fetched?.file.sizeBytes, undefined);
});

test('a broken connection of an unread file does not crash the service', async (t) => {
  let broken = false;
  const port = await serveRaw(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx', () => {
      setImmediate(() => socket.resetAndDestroy());
    });
    socket.on('close', () => {
      broken = true;
    });
  });
  const opened = await openHttpSource({ url: `http://shop.example:${port}/` }, settings);
  while (!broken) await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(Array.fromAsync(opened?.files[0]?.bytes ?? []), isProblem('broken_off', /broke off/));
  await opened?.[Symbol.asyncDispose]();
});

test('an answer that is not HTTP is an error', async (t) => {
  const answers = ['SSH-2.0-OpenSSH_9.6\r\n', '', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`];
  const texts = [/not answer according to HTTP/, /closed the connection/, /headers that are too large/];
  for (const [index, answer] of answers.entries()) {
    const port = await serveRaw(t, (socket) => socket.end(answer));
    await assert.rejects(
      fetchSource(`http://shop.example:${port}/`),
      isProblem('connection', texts[index] ?? /x/),
    );
  }
});

test('an unknown host, a host without an address and a refused connection are reported', async () => {
  const fail = (code: string) => async () => {
    throw Object.assign(new Error('getaddrinfo secret'), { code });
  };
  const refused = isProblem('connection', /refused the connection/);
  await assert.rejects(fetchSource('http://127.0.0.1:1/'), refused);
  await assert.rejects(
    fetchSource('http://no.example/', { resolve: fail('ENOTFOUND') }),
    isProblem('connection', /^no\.example is not known/),
  );
  await assert.rejects(
    fetchSource('http://no.example/', { resolve: fail('EAI_AGAIN') }),
    isProblem('connection', /name servers do not/),
  );
  await assert.rejects(
    fetchSource('http://no.example/', { resolve: async () => [] }),
    isProblem('connection', /not known/),
  );
});

test('a slow source is waited for, and a stalled source is not', async (t) => {
  const { port } = await serve(t, (response, { url }) => {
    if (url === '/silent') return;
    response.writeHead(200).write('a');
    if (url === '/stuck') return;
    let left = 10;
    const drip = setInterval(() => {
      response.write('b');
      if (--left === 0) {
        clearInterval(drip);
        response.end();
      }
    }, 150);
  });
  const waits = { idleMs: 1_000, wholeMs: 30_000 };
  assert.equal(
    String((await fetchSource(`http://shop.example:${port}/slow`, waits))?.bytes),
    `a${'b'.repeat(10)}`,
  );
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/silent`, waits),
    isProblem('timeout', /begin to answer for 1 s/),
  );
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/stuck`, waits),
    isProblem('timeout', /nothing more for 1 s/),
  );
  const whole = { idleMs: 1_000, wholeMs: 150 };
  await assert.rejects(
    fetchSource(`http://shop.example:${port}/slow`, whole),
    isProblem('timeout', /longer than 0\.15 s in all/),
  );
});

test('waiting for a silent name server or host ends with a timeout', async (t) => {
  const never = () => new Promise<never>(() => {});
  await assert.rejects(
    fetchSource('http://shop.example/', { resolve: never, connectMs: 100 }),
    isProblem('timeout', /connected to for 0\.1 s/),
  );
  const silent = createTcpServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const url = `https://shop.example:${port}/`;
  await assert.rejects(fetchSource(url, { connectMs: 100 }), isProblem('timeout', /connected to/));
});

test("the reader's own time does not count against the source", async (t) => {
  const piece = Buffer.alloc(64 * 1024, 'x');
  const { port } = await serve(t, (response) => response.end(Buffer.concat(new Array(40).fill(piece))));
  const opened = await openHttpSource(
    { url: `http://shop.example:${port}/` },
    { ...settings, idleMs: 80, wholeMs: 200 },
  );
  let read = 0;
  for await (const chunk of opened?.files[0]?.bytes ?? []) {
    if (read === 0) await new Promise((resolve) => setTimeout(resolve, 400));
    read += chunk.length;
  }
  assert.equal(read, 40 * piece.length);
});
