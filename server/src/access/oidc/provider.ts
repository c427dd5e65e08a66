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
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
} from 'openid-client';
import type { Clock } from '../../kernel/clock.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { isProtectedUrl } from '../../kernel/protected-url.ts';
import type { RoleRule } from '../../kernel/role-rules.ts';
import { secretsOf } from './attempt.ts';
import { fetchBounded } from './bounded-fetch.ts';
import { type CompanyAccount, readCompanyAccount } from './company-account.ts';

export type { CompanyAccount } from './company-account.ts';

/** As the operator configured it. Source: docs/interface.md §5.7. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** undefined: a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
  /** What people read on the button. */
  readonly name: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly roles: readonly RoleRule[];
}

/** A browser that comes back from the provider. */
export interface ReturnedBrowser {
  readonly attempt: string;
  readonly query: string;
  readonly returnUrl: string;
}

/** The company's provider. Every method may be refused with provider_unavailable. */
export interface Provider {
  readonly name: string;
  /** @returns where the browser goes */
  begin(attempt: string, returnUrl: string): Promise<string>;
  /**
   * @throws attempt_ended when it belongs to another attempt, provider_refused
   */
  finish(returned: ReturnedBrowser): Promise<CompanyAccount>;
  /** @returns where the browser signs out of the provider too; undefined: it has no such address */
  findSignOutUrl(returnUrl: string): Promise<string | undefined>;
}

/** For each request to the provider. */
const TIMEOUT_SECONDS = 10;
/** What the provider says of itself changes rarely; its keys are read anew when one is unknown. */
const DISCOVERY_MS = 3_600_000;
const RETRY_SECONDS = 10;
/** What the provider writes to people is shown, at most so much of it. */
const SHOWN_CHARACTERS = 300;

export function createProvider(settings: ProviderSettings, clock: Clock): Provider {
  const configure = rememberConfiguration(settings, clock);
  return {
    name: settings.name,
    async begin(attempt, returnUrl) {
      const { state, nonce, verifier } = secretsOf(attempt);
      const challenge = await calculatePKCECodeChallenge(verifier);
      const configuration = await configure();
      const url = await ask(settings, async () =>
        buildAuthorizationUrl(configuration, {
          redirect_uri: returnUrl,
          scope: settings.scopes,
          ...{ state, nonce, code_challenge: challenge, code_challenge_method: 'S256' },
        }),
      );
      return checkedUrl(url);
    },
    async finish({ attempt, query, returnUrl }) {
      const { state, nonce, verifier } = secretsOf(attempt);
      const url = new URL(`${returnUrl}?${query}`);
      // First: an answer of the provider to somebody else's browser is not looked at, not even its error.
      if (url.searchParams.get('state') !== state) throw new ServiceError('attempt_ended');
      const configuration = await configure();
      return ask(settings, async () => {
        const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce };
        const tokens = await authorizationCodeGrant(configuration, url, { ...checks, idTokenExpected: true });
        const claims = tokens.claims();
        if (claims === undefined) throw new Error('the provider sent no ID token');
        const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more = hasMore ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
        return readCompanyAccount({ ...more, ...claims }, settings.groupsClaim);
      });
    },
    async findSignOutUrl(returnUrl) {
      const configuration = await configure();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      const wish = { post_logout_redirect_uri: returnUrl };
      return checkedUrl(await ask(settings, async () => buildEndSessionUrl(configuration, wish)));
    },
  };
}

/** Asked of the provider at the first sign-in, so that a provider that is away does not keep the service from starting. */
function rememberConfiguration(settings: ProviderSettings, clock: Clock): () => Promise<Configuration> {
  let known: { readonly configuration: Configuration; readonly until: number } | undefined;
  let asked: Promise<Configuration> | undefined;
  async function discover(): Promise<Configuration> {
    const configuration = await ask(settings, () => discoverProvider(settings));
    known = { configuration, until: clock.now() + DISCOVERY_MS };
    return configuration;
  }
  return () => {
    if (known !== undefined && known.until > clock.now()) return Promise.resolve(known.configuration);
    asked ??= discover().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}

async function discoverProvider({
  issuer,
  clientId,
  clientSecret,
}: ProviderSettings): Promise<Configuration> {
  const authenticate = clientSecret === undefined ? None() : authenticateBySecret(clientSecret);
  const configuration = await discovery(new URL(issuer), clientId, undefined, authenticate, {
    // What may go without TLS is checked with each request, by fetchBounded.
    execute: [allowInsecureRequests, enableNonRepudiationChecks],
    timeout: TIMEOUT_SECONDS,
    [customFetch]: fetchBounded,
  });
  configuration.timeout = TIMEOUT_SECONDS;
  configuration[customFetch] = fetchBounded;
  return configuration;
}

/** In the header, as is the default of OpenID Connect, unless the provider takes it in the body alone. */
function authenticateBySecret(secret: string): ClientAuth {
  const [inHeader, inBody] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (...request) => {
    const [{ token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }] = request;
    return (methods.includes('client_secret_basic') ? inHeader : inBody)(...request);
  };
}

/** The browser is never sent to what is not a web address. */
function checkedUrl(url: URL): string {
  if (isProtectedUrl(url)) return url.href;
  throw new ServiceError('provider_unavailable', { details: ['one of its addresses is not https'] });
}

/** @throws provider_refused, provider_unavailable */
async function ask<Result>({ name }: ProviderSettings, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
      const said = (error.error_description ?? error.error).slice(0, SHOWN_CHARACTERS);
      throw new ServiceError('provider_refused', { details: [`${name} says: ${said}`], cause: error });
    }
    const details = ['the log of the service says why'];
    if (error instanceof ClientError && !isUnreached(error)) {
      throw new ServiceError('provider_refused', {
        details: ['its answer is not valid', ...details],
        cause: error,
      });
    }
    throw new ServiceError('provider_unavailable', {
      ...{ retryAfterSeconds: RETRY_SECONDS, details, cause: error },
    });
  }
}

/** What the package itself found wrong with an answer has a code; what kept it from getting one has not. */
function isUnreached({ code }: ClientError): boolean {
  return code === undefined || code === 'OAUTH_TIMEOUT';
}
