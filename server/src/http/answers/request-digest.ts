import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type BodyEncoding, unpackNow } from '../../storage/payloads/payloads.ts';

/** The parts of a request that identify a repetition. */
export interface DigestedRequest {
  /** Method, path, project and parameters. */
  readonly head: string;
  /** The body as received. */
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  readonly maxMib: number;
}

/** Has a parsing thread digest a request. Owners take turns. */
export type DigestElsewhere = (request: DigestedRequest, owner: number) => Promise<string>;

/** Smaller bodies are digested on this thread, which takes less than a millisecond. */
const SMALL_BYTES = 256 * 1024;
/** The limit of a body whose route sets none. */
const DEFAULT_MIB = 1 / 2;

/**
 * Digests a request with its unpacked body. The packed bytes may differ in a repetition, because gzip writes the time
 * into its header.
 * @throws body_not_unpacked, body_too_large
 */
export function digestRequest({ head, bytes, encoding, maxMib }: DigestedRequest): string {
  const plain = unpackNow(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding, maxMib);
  return createHash('sha256').update(head).update(plain).digest('hex');
}

/**
 * @returns the digest of the request, which does not depend on how its body was packed
 * @throws body_not_unpacked, body_too_large
 */
export async function hashRequest(request: FastifyRequest, elsewhere: DigestElsewhere): Promise<string> {
  const { rawBody, bodyDigest = '', routeOptions } = request;
  const head = describeHead(request);
  if (rawBody === undefined) return createHash('sha256').update(head).update(bodyDigest).digest('hex');
  const { bytes, encoding } = rawBody;
  const { maxBodyMib: maxMib = DEFAULT_MIB } = routeOptions.config;
  const digested = { head, bytes, encoding, maxMib };
  if (encoding === 'identity' && bytes.length <= SMALL_BYTES) return digestRequest(digested);
  const { caller, project } = request as Partial<FastifyRequest>;
  return elsewhere(digested, project?.id ?? -(caller?.accountId ?? 0));
}

function describeHead({ method, url, query, routeOptions, project }: FastifyRequest): string {
  // With the guard `project`, the address may lack the project, because the key can determine it.
  const projectId = routeOptions.config.guard === 'project' ? project.id : 0;
  const parameters = Object.entries(query as object).filter(([name]) => name !== 'apiKey');
  const sorted = JSON.stringify(parameters.sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${method} ${url.split('?', 1)[0]} ${projectId} ${sorted}`;
}
