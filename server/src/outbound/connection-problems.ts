import { OutboundProblem } from './outbound-problem.ts';

const TEXTS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'is not known to the name servers',
  EAI_AGAIN: 'could not be looked up: the name servers do not answer',
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'broke the connection off before it answered',
  EPIPE: 'broke the connection off before it answered',
  ETIMEDOUT: 'cannot be reached',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  HPE_HEADER_OVERFLOW: 'answered with headers that are too large',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that it signed itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an unknown authority',
};

/**
 * Says in words why a connection failed. Errors of Node are not passed on as they are: some hold what was sent.
 * @returns OutboundProblem, or what was given when it is no failure of a connection
 */
export function describeConnection(error: unknown, { host }: { readonly host: string }): unknown {
  const code = (error as { code?: unknown }).code;
  if (error instanceof OutboundProblem || typeof code !== 'string') return error;
  return new OutboundProblem('connection', `${host} ${TEXTS[code] ?? describeCode(code)}`, {
    cause: error,
  });
}

function describeCode(code: string): string {
  if (code.startsWith('HPE_')) return 'does not answer as HTTP has it';
  if (/SSL|TLS|CERT/.test(code)) return `could not be connected to securely (${code})`;
  return `could not be reached (${code})`;
}
