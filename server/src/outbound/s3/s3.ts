/** The door of s3: reads, lists and writes objects of a bucket, over pinned connections. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import { SaxesParser } from 'saxes';
import { type Static, type TObject, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
import { cutPieces } from '../../kernel/pieces.ts';
import { checkHttpUrl, readHttpUrl, URL_LENGTH } from '../address.ts';
import { createTimeouts, OutboundProblem } from '../outbound-problem.ts';
import { announcedSize, type Outbound, readResponse, sendPinned } from '../pinned-addresses.ts';
import type { SecretMembers } from '../secret-members.ts';

/**
 * The size of a part. Each part except the last needs at least 5 MiB, and an object has at most 10,000 parts, so an
 * object can have 156 GiB.
 */
const PART_BYTES = 16 * 1024 * 1024;
/**
 * The limit for answers in XML. A page of a list has up to 1,000 keys of 1,024 bytes, and each byte may be written as
 * `%xx`.
 */
const XML_BYTES = 8 * 1024 * 1024;
const CLEARING = { connectMs: 15_000, idleMs: 15_000, wholeMs: 30_000 };

/** A bucket. Nothing is sent before a method is called, and secret keys are never sent, only signatures. */
export class S3 {
  readonly #place: S3Place;
  readonly #via: Outbound;

  constructor(bucket: S3Place, via: Outbound) {
    this.#place = bucket;
    this.#via = via;
  }

  /**
   * Lists objects whose keys begin with the prefix and come after `after`, ordered by key.
   * @throws OutboundProblem
   */
  async *list(prefix: string, after?: string): AsyncGenerator<ReturnType<typeof readObject>, undefined> {
    let pageQuery: Record<string, string> = after === undefined ? {} : { 'start-after': after };
    let token: string;
    do {
      const query = { 'list-type': '2', 'encoding-type': 'url', prefix, ...pageQuery };
      const page = await this.#requestXml({ query });
      const isEncoded = textOf(page, 'EncodingType') === 'url';
      for (const child of page.children) if (child.name === 'Contents') yield readObject(child, isEncoded);
      token = textOf(page, 'IsTruncated') === 'true' ? textOf(page, 'NextContinuationToken') : '';
      pageQuery = { 'continuation-token': token };
    } while (token !== '');
  }

  /**
   * Reads an object, unless its ETag is `ifNoneMatch`, and only if its ETag is `ifMatch`.
   * @throws OutboundProblem no_file, changed
   */
  async read(
    key: string,
    { ifMatch, ifNoneMatch }: { ifMatch?: string; ifNoneMatch?: string | undefined } = {},
  ) {
    const headers = {
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
    };
    const { response, url } = await this.#ask({ key, headers }, [200, 304]);
    /** Discards the unread rest. */
    const close = () => void response.destroy();
    if (response.statusCode === 200)
      return {
        headers: response.headers,
        sizeBytes: announcedSize(response),
        bytes: readResponse(response, { ...this.#via, url }),
        close,
      };
    close();
    return undefined;
  }

  /**
   * Writes an object as a whole or not at all: with one PUT up to 16 MiB, and in parts beyond that.
   * @throws OutboundProblem changed if there is a newer object
   */
  async write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    {
      contentType = 'application/octet-stream',
      isNew = false,
    }: { contentType?: string | undefined; isNew?: boolean } = {},
  ): Promise<number> {
    const headers = { 'content-type': contentType, ...(isNew && { 'if-none-match': '*' }) };
    const parts = cutPieces(bytes, PART_BYTES);
    try {
      const first = (await parts.next()).value ?? new Uint8Array();
      if (first.length === PART_BYTES) return await this.#writeParts(key, headers, { first, parts });
      const { response } = await this.#ask({ method: 'PUT', key, headers, body: first }, [200]);
      response.destroy();
      return first.length;
    } finally {
      await parts.return(undefined);
    }
  }

  async #writeParts(
    key: string,
    headers: Readonly<Record<string, string>>,
    { first, parts }: { first: Uint8Array; parts: AsyncGenerator<Uint8Array, undefined> },
  ): Promise<number> {
    const begun = await this.#requestXml({ method: 'POST', key, query: { uploads: '' }, headers });
    const uploadId = textOf(begun, 'UploadId');
    const tags: string[] = [];
    let total = 0;
    try {
      for (let body: Uint8Array | undefined = first; body; body = (await parts.next()).value) {
        const query = { partNumber: String(tags.length + 1), uploadId };
        const { response } = await this.#ask({ method: 'PUT', key, query, body }, [200]);
        tags.push(response.headers.etag ?? '');
        response.destroy();
        total += body.length;
      }
      await this.#requestXml({ method: 'POST', key, query: { uploadId }, body: listParts(tags) });
      return total;
    } catch (error) {
      await this.#clear({ method: 'DELETE', key, query: { uploadId } }).catch(() => {});
      throw error;
    }
  }

  /**
   * Removes an object. A missing one counts as removed.
   * @throws OutboundProblem
   */
  async remove(key: string): Promise<void> {
    const { response } = await this.#ask({ method: 'DELETE', key }, [200, 204, 404]);
    response.destroy();
  }

  /**
   * Removes the parts of a failed write, which would remain stored and cost money. This happens even if the caller's
   * time is used up or the caller has disconnected.
   */
  async #clear(request: S3Request): Promise<void> {
    const timeouts = createTimeouts(CLEARING, 'The server');
    const { response } = await this.#ask(request, [204], { ...this.#via, timeouts, signal: undefined });
    response.destroy();
  }

  /**
   * @returns the XML of the answer
   * @throws OutboundProblem; a copy or a completion may fail despite the status 200
   */
  async #requestXml(request: S3Request): Promise<XmlElement> {
    const answer = await this.#ask(request, [200]);
    const xml = await readAnswer(answer, this.#via);
    if (xml?.name === 'Error') throw describeRefusal(answer.url, 200, xml);
    if (xml !== undefined) return xml;
    throw new OutboundProblem('refused', `${answer.url.host} does not answer as S3 does`);
  }

  /** @throws OutboundProblem unless the status of the answer is one of `taken` */
  async #ask(request: S3Request, acceptedStatuses: readonly number[], via = this.#via): Promise<S3Answer> {
    const { method = 'GET', body } = request;
    const url = addressOf(this.#place, request);
    const { accessKeyId, secretAccessKey, region } = this.#place;
    const digest = createHash('sha256').update(body ?? '');
    const signed = await new AwsV4Signer({
      method,
      accessKeyId,
      secretAccessKey,
      service: 's3',
      ...(region && { region }),
      url: url.href,
      headers: { ...request.headers, 'x-amz-content-sha256': digest.digest('hex') },
    }).sign();
    const headers = {
      ...Object.fromEntries(signed.headers),
      ...(method !== 'GET' && { 'content-length': String(body?.length ?? 0) }),
    };
    const response = await sendPinned(url, { ...via, method, headers, ...(body && { body }) });
    const { statusCode = 0 } = response;
    if (acceptedStatuses.includes(statusCode)) return { response, url };
    // If the body cannot be read, the status suffices, because the body would only explain it.
    throw describeRefusal(url, statusCode, await readAnswer({ response, url }, via).catch(() => undefined));
  }
}

function readObject(element: XmlElement, isEncoded: boolean) {
  const key = textOf(element, 'Key');
  return {
    key: isEncoded ? decodeKey(key) : key,
    sizeBytes: Number(textOf(element, 'Size')),
    etag: textOf(element, 'ETag'),
    /** An instant in ISO 8601, which is the server's own form, so the texts sort like the instants. */
    modifiedAt: textOf(element, 'LastModified'),
  };
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // Some servers claim to encode keys but do not.
    return key;
  }
}

/** Source: docs/interface §13.1. */
export const s3BucketOptions = {
  endpoint: Type.String({
    minLength: 1,
    maxLength: URL_LENGTH,
    'x-label': 'Endpoint',
    description: 'https://s3.eu-central-1.amazonaws.com, https://minio.example:9000',
  }),
  region: optional.text({
    pattern: '^[a-z0-9-]{1,50}$',
    'x-label': 'Region',
    description: 'if it is left out: what the endpoint says, otherwise us-east-1',
  }),
  bucket: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$', 'x-label': 'Bucket' }),
};

export const s3AccessOptions = {
  accessKeyId: Type.String({ pattern: '^[!-~]{1,128}$', 'x-label': 'Access key id' }),
  secretAccessKey: Type.String({
    minLength: 1,
    maxLength: 1_024,
    'x-label': 'Secret access key',
    'x-secret': 'line',
    description:
      'Answers show *** in its place; ***, sent back, keeps it as long as the origin of the endpoint stays',
  }),
  forcePathStyle: optional.flag(
    'true: the bucket stands in the path; false: in the host name. If it is left out: in the host name at amazonaws.com, otherwise in the path',
  ),
};

/** A bucket of S3 or of a compatible server, with the credentials to use it. */
export type S3Place = Readonly<Static<TObject<typeof s3BucketOptions & typeof s3AccessOptions>>>;

interface S3Request {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

type S3Answer = { readonly response: IncomingMessage; readonly url: URL };

function addressOf(
  { endpoint, bucket, forcePathStyle }: S3Place,
  { key = '', query = {} }: Pick<S3Request, 'key' | 'query'>,
): URL {
  const url = new URL(endpoint);
  // No certificate of *.s3.amazonaws.com covers a bucket name with dots.
  const inPath = forcePathStyle ?? (!url.hostname.endsWith('.amazonaws.com') || bucket.includes('.'));
  if (!inPath) url.hostname = `${bucket}.${url.hostname}`;
  const names = [...(inPath ? [bucket] : []), ...key.split('/')];
  url.pathname = url.pathname.replace(/\/$/, '') + names.map((name) => `/${encode(name)}`).join('');
  url.search = Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  return url;
}

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

async function readAnswer({ response, url }: S3Answer, via: Outbound): Promise<XmlElement | undefined> {
  const pieces: Uint8Array[] = [];
  let total = 0;
  for await (const piece of readResponse(response, { ...via, url })) {
    total += piece.length;
    if (total > XML_BYTES) throw new OutboundProblem('refused', `${url.host} answers more than a list holds`);
    pieces.push(piece);
  }
  return readXml(Buffer.concat(pieces).toString('utf8'));
}

const HINTS: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'it does not know the access key id',
  SignatureDoesNotMatch: 'the secret access key or the region is wrong',
  AuthorizationHeaderMalformed: 'the region is wrong',
  PermanentRedirect: 'the bucket is in another region',
  AccessDenied: 'the access key has no right to do this',
  NoSuchBucket: 'there is no such bucket',
  NoSuchKey: 'there is no such object',
  RequestTimeTooSkewed: 'the clocks of the service and of the server differ',
};

/** The server's own message is not passed on, because it may contain the signed text. */
function describeRefusal(url: URL, status: number, xml: XmlElement | undefined): OutboundProblem {
  const code = (xml?.name === 'Error' && textOf(xml, 'Code')) || '';
  const isName = /^[A-Za-z]{1,60}$/.test(code);
  const hint = HINTS[code];
  const text = `${url.host} answered ${status}${isName ? ` ${code}` : ''}${hint ? `: ${hint}` : ''}`;
  if (status === 412) return new OutboundProblem('changed', text);
  // A failure within the server may be temporary, but a refusal is not.
  if (status >= 500) return new OutboundProblem('broken_off', text);
  return new OutboundProblem(status === 404 ? 'no_file' : 'refused', text);
}

function listParts(tags: readonly string[]): Uint8Array {
  const parts = tags.map(
    (tag, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag.replace(/[<>&]/g, '')}</ETag></Part>`,
  );
  return Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
}

/** @returns what is wrong with an endpoint; undefined if it is valid */
export function checkS3Endpoint(endpoint: string): string | undefined {
  const problem = checkHttpUrl(endpoint);
  return problem ?? (/[?#]/.test(endpoint) ? 'An endpoint has no query and no fragment' : undefined);
}

export const s3Secrets: SecretMembers<Pick<S3Place, 'endpoint'>> = {
  members: ['secretAccessKey'],
  sentTo: ({ endpoint }) => (checkHttpUrl(endpoint) === undefined ? readHttpUrl(endpoint).origin : undefined),
};

/** An element of an answer. S3 uses no attributes. */
interface XmlElement {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

const textOf = ({ children }: XmlElement, name: string): string =>
  children.find((child) => child.name === name)?.text ?? '';

/**
 * The parser ignores entities that the text declares.
 * @returns undefined if the text is not XML
 */
function readXml(text: string): XmlElement | undefined {
  const root: XmlElement = { name: '', children: [], text: '' };
  const open = [root];
  const last = () => open.at(-1) ?? root;
  const parser = new SaxesParser();
  parser.on('opentag', ({ name }) => {
    const element = { name, children: [], text: '' };
    last().children.push(element);
    open.push(element);
  });
  parser.on('text', (part) => {
    last().text += part;
  });
  parser.on('closetag', () => void open.pop());
  try {
    parser.write(text).close();
  } catch {
    // Callers report the text as an answer that S3 never gives.
    return undefined;
  }
  return root.children[0];
}
