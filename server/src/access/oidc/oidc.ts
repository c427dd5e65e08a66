/**
 * The door of oidc: sign-in at the company's provider (OpenID Connect), and the roles that its groups give.
 * It does not handle users or sessions.
 */
import { createHmac } from 'node:crypto';
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
} from 'openid-client';
import { includesRole, type PartRole, type Role } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isProtectedUrl } from '../../kernel/protected-url.ts';
import type { RoleRule } from '../../kernel/role-rules.ts';

/** The provider as the operator configured it. Source: docs/interface §5.7. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which only PKCE protects. */
  readonly clientSecret: string | undefined;
  /** The text on the sign-in button. */
  readonly name: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly roles: readonly RoleRule[];
}

/** The limit of each request to the provider. */
const TIMEOUT_SECONDS = 10;
/** How long the provider's metadata is cached. An unknown key makes the service fetch the keys again earlier. */
const DISCOVERY_MS = 3_600_000;
/** The maximum length of a provider's message in an answer. */
const SHOWN_CHARACTERS = 300;

export type Provider = ReturnType<typeof createProvider>;

/** Creates the client of the company's provider. Every method can throw provider_unavailable. */
export function createProvider(settings: ProviderSettings, clock: Clock) {
  const configure = rememberConfiguration(settings, clock);
  return {
    name: settings.name,
    /** @returns the address of the provider's sign-in page for the browser */
    async begin(attempt: string, returnUrl: string): Promise<string> {
      const { state, nonce, verifier } = secretsOf(attempt);
      const challenge = await calculatePKCECodeChallenge(verifier);
      const configuration = await configure();
      const url = await call(settings, async () =>
        buildAuthorizationUrl(configuration, {
          redirect_uri: returnUrl,
          scope: settings.scopes,
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        }),
      );
      return checkedUrl(url);
    },
    /**
     * Completes the sign-in of a browser that the provider has sent back with this query.
     * @throws attempt_ended if the query belongs to another attempt, provider_refused
     */
    async finish({ attempt, query, returnUrl }: { attempt: string; query: string; returnUrl: string }) {
      const { state, nonce, verifier } = secretsOf(attempt);
      const url = new URL(`${returnUrl}?${query}`);
      // Checks the state first, so that neither an answer nor an error for another browser is read.
      if (url.searchParams.get('state') !== state) throw new ServiceError('attempt_ended');
      const configuration = await configure();
      return await call(settings, async () => {
        const tokens = await authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error('the provider sent no ID token');
        const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more = hasMore && (await fetchUserInfo(configuration, tokens.access_token, claims.sub));
        return readCompanyAccount({ ...more, ...claims }, settings.groupsClaim);
      });
    },
    /** @returns the address where the browser also signs out of the provider; undefined if the provider has none */
    async findSignOutUrl(returnUrl: string): Promise<string | undefined> {
      const configuration = await configure();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      const parameters = { post_logout_redirect_uri: returnUrl };
      return checkedUrl(await call(settings, async () => buildEndSessionUrl(configuration, parameters)));
    },
  };
}

/** Fetches the metadata at the first sign-in, so that the service starts even if the provider is unreachable. */
function rememberConfiguration(settings: ProviderSettings, clock: Clock) {
  let cached: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;
  return () => {
    if (cached !== undefined && cached.until > clock.now()) return cached.configuration;
    const configuration = call(settings, () => discoverProvider(settings));
    cached = { configuration, until: clock.now() + DISCOVERY_MS };
    configuration.catch(() => {
      cached = undefined;
    });
    return configuration;
  };
}

async function discoverProvider({ issuer, clientId, clientSecret }: ProviderSettings) {
  const authenticate = clientSecret === undefined ? None() : authenticateBySecret(clientSecret);
  const configuration = await discovery(new URL(issuer), clientId, undefined, authenticate, {
    // fetchBounded decides for each request whether it may be sent without TLS.
    execute: [allowInsecureRequests, enableNonRepudiationChecks],
    timeout: TIMEOUT_SECONDS,
    [customFetch]: fetchBounded,
  });
  configuration.timeout = TIMEOUT_SECONDS;
  configuration[customFetch] = fetchBounded;
  return configuration;
}

/** Sends the secret in the header, the default of OpenID Connect, or in the body if the provider requires that. */
function authenticateBySecret(secret: string): ClientAuth {
  const [inHeader, inBody] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (...request) => {
    const [{ token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }] = request;
    return (methods.includes('client_secret_basic') ? inHeader : inBody)(...request);
  };
}

/** Ensures that the browser is only sent to a protected web address. @throws provider_unavailable */
function checkedUrl(url: URL): string {
  if (isProtectedUrl(url)) return url.href;
  throw new ServiceError('provider_unavailable', 'one of the addresses of the provider is not https');
}

/** @throws provider_refused, provider_unavailable */
async function call<Result>({ name }: ProviderSettings, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
      const providerMessage = (error.error_description ?? error.error).slice(0, SHOWN_CHARACTERS);
      throw new ServiceError('provider_refused', `${name} answered: ${providerMessage}`, { cause: error });
    }
    const log = 'see the log of the service for the reason';
    // Errors in an answer of the provider have a code; errors that prevented an answer have none.
    const isAnswered = error instanceof ClientError && ![undefined, 'OAUTH_TIMEOUT'].includes(error.code);
    throw isAnswered
      ? new ServiceError('provider_refused', {
          details: ['the answer of the provider is not valid', log],
          cause: error,
        })
      : new ServiceError('provider_unavailable', { retryAfterSeconds: 10, details: [log], cause: error });
  }
}

/**
 * @returns the secrets that identify a sign-in at the provider. `verifier` is for PKCE (RFC 7636): 43 characters of
 * its alphabet.
 */
function secretsOf(attempt: string) {
  const derive = (what: string) =>
    createHmac('sha256', attempt).update(`relata sign-in ${what}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') };
}

/** Far more than the keys and claims of a provider need: a group claim of 10,000 names has some 400 KiB. */
const MAX_BYTES = 1024 * 1024;

/**
 * Fetches from an address that the operator gave, so the address may be private, but it needs TLS. Follows no
 * redirects and bounds the size of the answer. The signal of the caller limits the time.
 */
const fetchBounded: CustomFetch = async (address, options) => {
  const url = new URL(address);
  if (!isProtectedUrl(url)) throw new Error(`${url.origin} is neither https nor on this machine`);
  const { method, headers, body = null, signal = null } = options;
  const response = await fetch(url, { method, headers, body, signal, redirect: 'manual' });
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of response.body ?? []) {
    total += part.length;
    if (total > MAX_BYTES) throw new Error(`${url.origin} answered more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  const isEmpty = bytes.length === 0 || [204, 205, 304].includes(response.status);
  const { status, statusText, headers: answered } = response;
  return new Response(isEmpty ? null : bytes, { status, statusText, headers: answered });
};

/** The person who signed in at the provider. */
export interface CompanyAccount {
  readonly issuer: string;
  /** The permanent identifier of the person at the issuer. Addresses and names can change. */
  readonly subject: string;
  /** The address as the provider writes it. */
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** The rules are the same as in the schema of an invitation. */
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;
const NAME_LENGTH = 255;
const EMAIL_LENGTH = 254;
/** OpenID Connect Core 1.0, section 2. */
const SUBJECT_LENGTH = 255;

type Claims = Readonly<Record<string, unknown>>;

/**
 * @param claims the claims of a verified ID token
 * @throws provider_refused if a claim that a user needs is missing
 */
function readCompanyAccount(claims: Claims, groupsClaim: string): CompanyAccount {
  const { iss, sub, email } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub.length > SUBJECT_LENGTH) {
    throw refused('the provider did not send the identity of the user: check the claims iss and sub');
  }
  if (typeof email !== 'string' || email.length > EMAIL_LENGTH || !EMAIL.test(email)) {
    throw refused('the provider sent no e-mail address: configure it to send the claim email to this client');
  }
  // A person who can enter any address at the provider could otherwise take over the user with that address.
  if (claims.email_verified === false) {
    throw refused('the provider has not verified your e-mail address: verify it at the provider first');
  }
  // Some providers send a single group as a string instead of a list.
  const groups = [claims[groupsClaim]].flat().filter((group) => typeof group === 'string');
  return { issuer: iss, subject: sub, email, name: readName(claims) ?? email, groups };
}

function readName(claims: Claims): string | undefined {
  const claimedName = [claims.name, claims.preferred_username].find(
    (name) => typeof name === 'string' && name.trim() !== '',
  );
  return claimedName === undefined
    ? undefined
    : String(claimedName).replaceAll('\0', '').slice(0, NAME_LENGTH);
}

const refused = (detail: string) => new ServiceError('provider_refused', detail);

/** @returns the highest role that the groups give in the account, and in each part of the account */
export function findRoles(
  rules: readonly RoleRule[],
  groups: readonly string[],
): { role: Role; roles: PartRole[] } {
  let role: Role = 'none';
  const roles = new Map<string, PartRole>();
  for (const rule of rules.filter(({ group }) => group === '*' || groups.includes(group))) {
    if (rule.scope === undefined) {
      if (!includesRole(role, rule.role)) role = rule.role;
      continue;
    }
    const part = `${rule.scope.type} ${rule.scope.id}`;
    const currentRole = roles.get(part)?.role ?? 'none';
    if (!includesRole(currentRole, rule.role)) roles.set(part, { scope: rule.scope, role: rule.role });
  }
  return { role, roles: [...roles.values()] };
}
