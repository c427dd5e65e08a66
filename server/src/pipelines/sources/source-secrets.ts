/** What is secret of a source: write-only, stored apart from its definition and sealed there. Source: docs/interface.md §13.4. */

/** Stands in answers, and in the stored definition, for what is secret. */
export const MASK = '***';

export interface SecretMembers<Source> {
  /** Names of members that are strings, or records of strings. */
  readonly members: readonly string[];
  /** @returns where they are sent, undefined for an address that is none */
  sentTo(source: Source): string | undefined;
}

type Value = string | Readonly<Record<string, string>>;
type Members = Readonly<Record<string, Value | undefined>>;

const asMembers = (source: object) => source as Members;

export function maskMembers<Source extends object>(
  source: Source,
  secrets: SecretMembers<never> | undefined,
): Source {
  const masked = presentMembers(source, secrets).map(([name, value]) => [name, mapValue(value, () => MASK)]);
  return { ...source, ...Object.fromEntries(masked) };
}

export function listMasked(source: object, secrets: SecretMembers<never> | undefined): string[] {
  const present = presentMembers(source, secrets);
  return present.filter(([, value]) => valuesOf(value).includes(MASK)).map(([name]) => name);
}

/** @returns undefined when nothing is secret, or all of it is masked */
export function pickSecrets(source: object, secrets: SecretMembers<never> | undefined): object | undefined {
  const open = presentMembers(source, secrets).filter(([, value]) =>
    valuesOf(value).some((text) => text !== MASK),
  );
  return open.length === 0 ? undefined : Object.fromEntries(open);
}

/**
 * Fills in what was masked.
 * @returns undefined when there is no such value, or it is sent elsewhere now: whoever may change the address but not read
 * the secret could have it sent to a server of their own
 */
export function fillMembers<Source extends object>(
  sent: Source,
  stored: Source | undefined,
  secrets: SecretMembers<Source> | undefined,
): Source | undefined {
  if (secrets === undefined || listMasked(sent, secrets).length === 0) return sent;
  const address = secrets.sentTo(sent);
  if (stored === undefined || address === undefined || address !== secrets.sentTo(stored)) return undefined;
  const known = asMembers(stored);
  const filled = presentMembers(sent, secrets).map(([name, value]) => [name, fillValue(value, known[name])]);
  const isWhole = filled.every(([, value]) => value !== undefined);
  return isWhole ? { ...sent, ...Object.fromEntries(filled) } : undefined;
}

function presentMembers(
  source: object,
  secrets: SecretMembers<never> | undefined,
): (readonly [string, Value])[] {
  return (secrets?.members ?? []).flatMap((name) => {
    const value = asMembers(source)[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

const valuesOf = (value: Value): string[] => (typeof value === 'string' ? [value] : Object.values(value));

const mapValue = (value: Value, to: (text: string) => string): Value =>
  typeof value === 'string'
    ? to(value)
    : Object.fromEntries(Object.entries(value).map(([name, text]) => [name, to(text)]));

/** Names within a record are those of headers: case does not count. */
function fillValue(value: Value, known: Value | undefined): Value | undefined {
  if (typeof value === 'string') return value === MASK ? textOf(known) : value;
  const texts = new Map(
    Object.entries(typeof known === 'object' ? known : {}).map(([name, text]) => [name.toLowerCase(), text]),
  );
  const filled = Object.entries(value).map(
    ([name, text]) => [name, text === MASK ? texts.get(name.toLowerCase()) : text] as const,
  );
  if (filled.some(([, text]) => text === undefined)) return undefined;
  return Object.fromEntries(filled) as Record<string, string>;
}

const textOf = (value: Value | undefined) => (typeof value === 'string' ? value : undefined);
