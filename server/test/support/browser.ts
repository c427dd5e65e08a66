import assert from 'node:assert/strict';
import type { Answer } from './test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

export interface BrowserCall {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the session's token. null: sends none. */
  readonly csrf?: string | null;
}

/**
 * The features of a browser that sessions need: it stores a cookie, sends it with each request, states the origin of
 * its page, and repeats the CSRF token.
 */
export class Browser {
  readonly address: string;
  /** `name=value`; undefined: none. */
  cookie: string | undefined;
  /** The `Set-Cookie` header of the last answer, with its attributes. */
  setCookie: string | undefined;
  csrfToken = '';
  /** Sent with each request. */
  headers: Readonly<Record<string, string>> = {};

  constructor(address: string) {
    this.address = address;
  }

  async call(method: string, path: string, options: BrowserCall = {}): Promise<Answer<AnyBody>> {
    const { body, headers, csrf = this.csrfToken } = options;
    const response = await fetch(`${this.address}${path}`, {
      method,
      headers: {
        ...(method !== 'GET' && { origin: this.address }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...(csrf !== null && method !== 'GET' && { 'x-csrf-token': csrf }),
        ...this.headers,
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
    this.keep(answer);
    return answer;
  }

  /** @returns the body of an answer that must report success */
  async succeed(method: string, path: string, body?: unknown): Promise<AnyBody> {
    const answer = await this.call(method, path, { body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  private keep({ headers, body }: Answer<AnyBody>): void {
    const [set] = headers.getSetCookie();
    if (set !== undefined) {
      this.setCookie = set;
      const [pair = ''] = set.split(';', 1);
      this.cookie = pair.endsWith('=') ? undefined : pair;
    }
    if (body?.csrfToken !== undefined) this.csrfToken = body.csrfToken;
  }
}

/** Long enough, and different from everything else that is stored or logged. */
export const PASSWORD = 'a good long Password 4711';
