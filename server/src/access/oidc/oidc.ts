/**
 * The door of oidc: signing in at the company's provider (OpenID Connect), and what role its groups give. It knows no
 * user and no session of ours.
 */
export { makeAttempt } from './attempt.ts';
export { type CompanyAccount, createProvider, type Provider, type ProviderSettings } from './provider.ts';
export { findRoles } from './role-rules.ts';
