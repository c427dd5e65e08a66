import { createHmac, randomBytes } from 'node:crypto';

/** What one sign-in at the provider is recognised by; all of it follows from one secret that only the browser keeps. */
export interface AttemptSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636): 43 characters of the alphabet that it asks for. */
  readonly verifier: string;
}

/** @returns what the browser keeps until it comes back: nothing has to be stored here, so nobody can fill the store */
export function makeAttempt(): string {
  return randomBytes(32).toString('base64url');
}

export function secretsOf(attempt: string): AttemptSecrets {
  const derive = (what: string) =>
    createHmac('sha256', attempt).update(`relata sign-in ${what}`).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') };
}
