import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Context } from 'oidc-provider';

/** A person whom the company knows. */
export interface Person {
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly email_verified?: boolean;
}

export interface CompanyProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** By the provider's subject. Each sign-in reads it. */
  readonly people: Map<string, Person>;
  /** Starts to answer, with this return address of the client. */
  register(returnUrl: string): void;
  /** From now on, visitors of its page are signed in as this subject. */
  signInAs(subject: string): void;
  close(): Promise<void>;
}

const SCOPES = 'openid email profile';

/** A real OpenID Connect provider on loopback, with one client and no passwords. */
export async function startCompanyProvider(): Promise<CompanyProvider> {
  const people = new Map<string, Person>();
  const client = { id: 'relata', secret: randomBytes(24).toString('base64url') };
  let current = '';
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientOf = (returnUrl: string) => ({
    client_id: client.id,
    client_secret: client.secret,
    redirect_uris: [returnUrl],
    post_logout_redirect_uris: [returnUrl],
  });
  const settings = {
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['cookies of a test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_: Context, accountId: string) => ({
      accountId,
      claims: () => ({ email_verified: true, ...people.get(accountId), sub: accountId }),
    }),
    interactions: { url: () => '/sign-in' },
  };
  function register(returnUrl: string): void {
    const provider: Provider = new Provider(issuer, {
      ...settings,
      clients: [clientOf(returnUrl)],
      async loadExistingGrant({ oidc: { client, session } }: Context) {
        const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope(SCOPES);
        await grant.save();
        return grant;
      },
    });
    const answer = provider.callback();
    server.on('request', (request, response) => {
      if (!request.url?.startsWith('/sign-in')) return answer(request, response);
      const login = { accountId: current, remember: false };
      void provider.interactionFinished(request, response, { login });
    });
  }
  return {
    issuer,
    clientId: client.id,
    clientSecret: client.secret,
    people,
    register,
    signInAs(subject) {
      current = subject;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Follows redirects with the provider's cookies, as a browser does. @returns the query of the last one */
export async function visitProvider(url: string, returnUrl: string): Promise<string> {
  const cookies = new Map<string, string>();
  let address = url;
  while (!address.startsWith(returnUrl)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(address, { redirect: 'manual', headers: { cookie } });
    const text = await response.text();
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider answered ${response.status}: ${text}`);
    address = new URL(location, address).href;
  }
  return new URL(address).search.slice(1);
}
