/**
 * The door of oidc: signing in at the company's provider (OpenID Connect), and what role its groups give. It knows no
 * user and no session of ours.
 */
export {
  type CompanyAccount,
  createProvider,
  findRoles,
  makeAttempt,
  type Provider,
  type ProviderSettings,
} from './provider.ts';
