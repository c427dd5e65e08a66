import { ServiceError } from '../../kernel/errors.ts';

/** Whom the provider signed in. */
export interface CompanyAccount {
  readonly issuer: string;
  /** What names the person at the issuer for ever; addresses and names change. */
  readonly subject: string;
  /** As the provider writes it. */
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** As the schema of an invitation has them. */
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;
const NAME_LENGTH = 255;
const EMAIL_LENGTH = 254;
/** OpenID Connect Core 1.0, section 2. */
const SUBJECT_LENGTH = 255;

type Claims = Readonly<Record<string, unknown>>;

/**
 * @param claims  of an ID token that was checked
 * @throws provider_refused when they lack what a user needs
 */
export function readCompanyAccount(claims: Claims, groupsClaim: string): CompanyAccount {
  const { iss, sub, email } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || sub.length > SUBJECT_LENGTH) {
    throw refused('the provider did not say who signed in');
  }
  if (typeof email !== 'string' || email.length > EMAIL_LENGTH || !EMAIL.test(email)) {
    throw refused('the provider sent no e-mail address: let it send the claim email to this client');
  }
  // Whoever may enter any address there could take the name of somebody else here.
  if (claims.email_verified === false) {
    throw refused('the provider has not verified your e-mail address: verify it there first');
  }
  return {
    issuer: iss,
    subject: sub,
    email,
    name: readName(claims) ?? email,
    groups: readGroups(claims[groupsClaim]),
  };
}

function readName(claims: Claims): string | undefined {
  const found = [claims.name, claims.preferred_username].find(
    (name) => typeof name === 'string' && name.trim() !== '',
  );
  return found === undefined ? undefined : String(found).replaceAll('\0', '').slice(0, NAME_LENGTH);
}

function readGroups(claim: unknown): readonly string[] {
  const groups: unknown[] = Array.isArray(claim) ? claim : [claim];
  return groups.filter((group) => typeof group === 'string');
}

function refused(detail: string): ServiceError {
  return new ServiceError('provider_refused', { details: [detail] });
}
