/** The part of the package that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  interface Context {
    readonly oidc: {
      readonly client?: { readonly clientId: string };
      readonly session?: { readonly accountId?: string };
    };
  }

  export class Grant {
    constructor(of: { clientId: string | undefined; accountId: string | undefined });
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  // biome-ignore lint/style/noDefaultExport: this is how the package exports it.
  export default class Provider {
    constructor(issuer: string, settings: object);
    readonly Grant: typeof Grant;
    callback(): RequestListener;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }

  export type { Context };
}
