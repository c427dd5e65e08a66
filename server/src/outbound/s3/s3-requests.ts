import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AwsV4Signer } from 'aws4fetch';
import { OutboundProblem } from '../outbound-problem.ts';
import type { Outbound } from '../pinned-addresses.ts';
import { sendPinned } from '../pinned-request.ts';
import { readResponse } from '../response-bytes.ts';
import { createTimeouts } from '../timeouts.ts';
import { readXml, type XmlElement } from './s3-xml.ts';

/** A bucket of S3 or of a server that speaks its protocol, with the right to use it. */
export interface S3Place {
  /** `https://s3.eu-central-1.amazonaws.com`, `https://minio.example:9000`. */
  readonly endpoint: string;
  /** Default: what the endpoint says, else us-east-1. */
  readonly region?: string | undefined;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Whether the bucket stands in the path; default: everywhere except at Amazon, which prefers it in the name. */
  readonly forcePathStyle?: boolean | undefined;
}

export interface S3Request {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface S3Answer {
  readonly response: IncomingMessage;
  readonly url: URL;
}

/** Answers in XML: a page of a list has up to 1,000 keys of 1,024 bytes, each byte of which may be written as `%xx`. */
const XML_BYTES = 8 * 1024 * 1024;

const CLEARING = { connectMs: 15_000, idleMs: 15_000, wholeMs: 30_000 };

/** Sends signed requests. Keys go over the line only as signatures. @throws OutboundProblem */
export function createS3Requests(place: S3Place, via: Outbound) {
  const send = async (request: S3Request, by: Outbound): Promise<S3Answer> => {
    const { method = 'GET', body } = request;
    const url = addressOf(place, request);
    const { accessKeyId, secretAccessKey, region } = place;
    const signed = await new AwsV4Signer({
      ...{ method, accessKeyId, secretAccessKey, service: 's3', ...(region && { region }) },
      url: url.href,
      headers: { ...request.headers, 'x-amz-content-sha256': digestOf(body) },
    }).sign();
    const headers = {
      ...Object.fromEntries(signed.headers),
      ...(method !== 'GET' && { 'content-length': String(body?.length ?? 0) }),
    };
    const response = await sendPinned(url, { ...by, method, headers, ...(body && { body }) });
    return { response, url };
  };

  /** @throws OutboundProblem unless the answer has a status of `taken` */
  const ask = async (request: S3Request, taken: readonly number[], by = via): Promise<S3Answer> => {
    const answer = await send(request, by);
    const { statusCode = 0 } = answer.response;
    if (taken.includes(statusCode)) return answer;
    // The status says enough; a body that breaks off would only explain it.
    throw describeRefusal(answer.url, statusCode, await readAnswer(answer, by).catch(() => undefined));
  };

  return {
    ask,
    /** Removes what would be left behind, though the time of the caller is used up or nobody waits any more. */
    async clear(request: S3Request): Promise<void> {
      const timeouts = createTimeouts(CLEARING, 'The server');
      const { response } = await ask(request, [204], { ...via, timeouts, signal: undefined });
      response.destroy();
    },
    /** @returns the answer's XML. @throws OutboundProblem; a copy or a completion may fail with status 200 */
    async askXml(request: S3Request): Promise<XmlElement> {
      const answer = await ask(request, [200]);
      const xml = await readAnswer(answer, via);
      if (xml?.name === 'Error') throw describeRefusal(answer.url, 200, xml);
      if (xml === undefined)
        throw new OutboundProblem('refused', `${answer.url.host} does not answer as S3 does`);
      return xml;
    },
  };
}

const digestOf = (body: Uint8Array | undefined) =>
  createHash('sha256')
    .update(body ?? '')
    .digest('hex');

function addressOf(
  { endpoint, bucket, forcePathStyle }: S3Place,
  { key = '', query = {} }: Pick<S3Request, 'key' | 'query'>,
): URL {
  const url = new URL(endpoint);
  // No certificate of *.s3.amazonaws.com fits a name with further dots.
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

/** The server's own message is not passed on: it may hold what was signed. */
function describeRefusal(url: URL, status: number, xml: XmlElement | undefined): OutboundProblem {
  const code = (xml?.name === 'Error' && xml.text('Code')) || '';
  const isName = /^[A-Za-z]{1,60}$/.test(code);
  const hint = HINTS[code];
  const text = `${url.host} answered ${status}${isName ? ` ${code}` : ''}${hint ? `: ${hint}` : ''}`;
  if (status === 412) return new OutboundProblem('changed', text);
  // What fails within the server may pass; what it refuses does not.
  if (status >= 500) return new OutboundProblem('broken_off', text);
  return new OutboundProblem(status === 404 ? 'no_file' : 'refused', text);
}
