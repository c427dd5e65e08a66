import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server with the part of S3 that the service uses. It checks signatures as AWS Signature Version 4 specifies. */
export interface S3TestServer {
  readonly endpoint: string;
  readonly port: number;
  /** Objects by key. */
  readonly objects: Map<string, Buffer>;
  /** `METHOD path?query` of each request, in order. */
  readonly requests: string[];
  /** The parts of unfinished uploads, by upload. */
  readonly uploads: Map<string, Map<number, Buffer>>;
  /** Fails the next PUT of this part with 500. */
  failPart(number: number): void;
  /** Never answers a PUT of this part. */
  stallPart(number: number): void;
  /** Fails `count` PUTs of whole objects with 500. */
  failPuts(count: number): void;
  /** Answers everything with 503. */
  isAway: boolean;
  close(): void;
}

export const S3_KEYS = { accessKeyId: 'AKIDTEST', secretAccessKey: 'secret/of+the=test' } as const;
const REGION = 'eu-test-1';
/** Keys per page of a list. The number is small so that lists have several pages. */
const PAGE = 2;

export async function startS3Server(bucket: string): Promise<S3TestServer> {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, Map<number, Buffer>>();
  const requests: string[] = [];
  const failing = { part: 0, stalled: 0, puts: 0 };
  const self = { isAway: false };

  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      requests.push(`${request.method} ${request.url}`);
      const body = Buffer.concat(pieces);
      if (self.isAway) return refuse(response, 503, 'ServiceUnavailable');
      const code = checkSignature(request, body);
      if (code !== undefined) return refuse(response, 403, code);
      return answer({ request, response, body, bucket, objects, uploads, failing });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(self, {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    objects,
    requests,
    uploads,
    failPart(number: number) {
      failing.part = number;
    },
    stallPart(number: number) {
      failing.stalled = number;
    },
    failPuts(count: number) {
      failing.puts = count;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly bucket: string;
  readonly objects: Map<string, Buffer>;
  readonly uploads: Map<string, Map<number, Buffer>>;
  readonly failing: { part: number; stalled: number; puts: number };
}

const etagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`;

function answer(exchange: Exchange): unknown {
  const { request, response, bucket, objects } = exchange;
  const url = new URL(request.url ?? '', 'http://s3.test');
  // The bucket is in the path or in the host name.
  const isNamed = request.headers.host?.startsWith(`${bucket}.`);
  const [first, ...rest] = url.pathname.slice(1).split('/');
  if (!isNamed && first !== bucket) return refuse(response, 404, 'NoSuchBucket');
  const key = decodeURIComponent(isNamed ? url.pathname.slice(1) : rest.join('/'));
  const query = url.searchParams;
  if (key === '') return list(exchange, query);
  if (query.has('uploads') || query.has('uploadId')) return upload(exchange, key, query);
  if (request.method === 'DELETE') {
    objects.delete(key);
    return response.writeHead(204).end();
  }
  return request.method === 'PUT' ? put(exchange, key) : get(exchange, key);
}

function list({ response, objects }: Exchange, query: URLSearchParams): void {
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const keys = [...objects.keys()]
    .sort()
    .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after);
  const page = keys.slice(0, PAGE);
  const contents = page.map((key) => {
    const bytes = objects.get(key) ?? Buffer.alloc(0);
    const etag = etagOf(bytes).replaceAll('"', '&quot;');
    return `<Contents><Key>${encodeURIComponent(key).replaceAll('%20', '+')}</Key><Size>${bytes.length}</Size><ETag>${etag}</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;
  });
  const isCut = keys.length > PAGE;
  response.end(
    `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType><IsTruncated>${isCut}</IsTruncated>${
      isCut ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    }${contents.join('')}</ListBucketResult>`,
  );
}

function get({ request, response, objects }: Exchange, key: string): unknown {
  const bytes = objects.get(key);
  if (bytes === undefined) return refuse(response, 404, 'NoSuchKey');
  const etag = etagOf(bytes);
  if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end();
  const match = request.headers['if-match'];
  if (match !== undefined && match !== etag) return refuse(response, 412, 'PreconditionFailed');
  return response.writeHead(200, { etag, 'content-length': bytes.length }).end(bytes);
}

function put({ request, response, objects, body, failing }: Exchange, key: string): unknown {
  if (request.headers['if-none-match'] === '*' && objects.has(key))
    return refuse(response, 412, 'PreconditionFailed');
  if (failing.puts > 0) {
    failing.puts -= 1;
    return refuse(response, 500, 'InternalError');
  }
  objects.set(key, body);
  return response.writeHead(200, { etag: etagOf(body) }).end();
}

function upload(exchange: Exchange, key: string, query: URLSearchParams) {
  const { request, response, body, uploads, failing } = exchange;
  const id = query.get('uploadId') ?? `upload-${uploads.size + 1}`;
  const parts = uploads.get(id) ?? new Map<number, Buffer>();
  const number = Number(query.get('partNumber'));
  if (query.has('uploads')) {
    uploads.set(id, parts);
    return response.end(
      `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    );
  }
  if (request.method === 'DELETE') {
    uploads.delete(id);
    return response.writeHead(204).end();
  }
  if (request.method === 'PUT') {
    if (failing.stalled === number) return undefined;
    if (failing.part === number) return refuse(response, 500, 'InternalError');
    parts.set(number, body);
    return response.writeHead(200, { etag: etagOf(body) }).end();
  }
  return complete(exchange, key, { id, parts });
}

interface Upload {
  readonly id: string;
  readonly parts: ReadonlyMap<number, Buffer>;
}

function complete({ response, body, objects, uploads }: Exchange, key: string, { id, parts }: Upload) {
  const named = [...String(body).matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)</g)];
  const isWhole = named.every(
    ([, part, etag]) => etagOf(parts.get(Number(part)) ?? Buffer.alloc(0)) === etag,
  );
  if (!isWhole || named.length !== parts.size) return refuse(response, 400, 'InvalidPart');
  objects.set(key, Buffer.concat(named.map(([, part]) => parts.get(Number(part)) ?? Buffer.alloc(0))));
  uploads.delete(id);
  return response.end('<CompleteMultipartUploadResult/>');
}

function refuse(response: ServerResponse, status: number, code: string) {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>words of the server</Message></Error>`;
  return response.writeHead(status, { 'content-type': 'application/xml' }).end(text);
}

const hex = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Source: docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. @returns the code of a refusal */
function checkSignature(request: IncomingMessage, body: Buffer): string | undefined {
  const {
    authorization = '',
    'x-amz-date': date = '',
    'x-amz-content-sha256': digest = '',
  } = request.headers;
  const [, id, day = '', region, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    ) ?? [];
  if (id !== S3_KEYS.accessKeyId) return 'InvalidAccessKeyId';
  if (region !== REGION) return 'AuthorizationHeaderMalformed';
  if (digest !== hex(body)) return 'XAmzContentSHA256Mismatch';
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.split(';').includes(name)))
    return 'AccessDenied';
  const [path = '', search = ''] = (request.url ?? '').split('?');
  const query = search.split('&').filter(Boolean).sort().join('&');
  const headers = names.split(';').map((name) => `${name}:${request.headers[name]}\n`);
  const canonical = [request.method, path, query, headers.join(''), names, digest].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${S3_KEYS.secretAccessKey}`,
  );
  const expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, hex(canonical)].join('\n')).toString('hex');
  return expected === signature ? undefined : 'SignatureDoesNotMatch';
}

export const S3_REGION = REGION;
