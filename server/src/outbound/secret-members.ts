/**
 * The secrets of an outside address. They are write-only and stored sealed, separate from the definition of the
 * address. Source: docs/interface §13.4.
 */

/** Replaces secrets in answers and in the stored definition. */
export const MASK = '***';

export interface SecretMembers<Place> {
  /** The names of members that are strings, or records of strings. */
  readonly members: readonly string[];
  /** @returns where the secrets are sent; undefined for an invalid address */
  sentTo(address: Place): string | undefined;
}

type Value = string | Readonly<Record<string, string>>;

const asMembers = (address: object) => address as Readonly<Record<string, Value | undefined>>;

export function maskMembers<Place extends object>(address: Place, secrets: SecretMembers<never> | undefined) {
  const masked = presentMembers(address, secrets).map(([name, value]) => [name, maskValue(value)]);
  return { ...address, ...Object.fromEntries(masked) };
}

export function listMasked(address: object, secrets: SecretMembers<never> | undefined): string[] {
  const present = presentMembers(address, secrets);
  return present.filter(([, value]) => valuesOf(value).includes(MASK)).map(([name]) => name);
}

/** @returns undefined if all secrets are masked or there are none */
export function pickSecrets(address: object, secrets: SecretMembers<never> | undefined): object | undefined {
  const open = presentMembers(address, secrets).filter(([, value]) =>
    valuesOf(value).some((text) => text !== MASK),
  );
  return open.length === 0 ? undefined : Object.fromEntries(open);
}

/**
 * Fills in masked values.
 * @returns undefined if there is no stored value, or the destination has changed. Otherwise a caller who may change the
 * address but not read the secret could have it sent to another server.
 */
export function fillMembers<Place extends object>(
  sent: Place,
  stored: Place | undefined,
  secrets: SecretMembers<Place> | undefined,
): Place | undefined {
  if (secrets === undefined || listMasked(sent, secrets).length === 0) return sent;
  const address = secrets.sentTo(sent);
  if (stored === undefined || address === undefined || address !== secrets.sentTo(stored)) return undefined;
  const storedMembers = asMembers(stored);
  const filled = presentMembers(sent, secrets).map(([name, value]) => [
    name,
    fillValue(value, storedMembers[name]),
  ]);
  const isWhole = filled.every(([, value]) => value !== undefined);
  return isWhole ? { ...sent, ...Object.fromEntries(filled) } : undefined;
}

/** @returns why *** is not accepted at this path of a definition */
export const describeMasked = (path: string): string =>
  `${path}: ${MASK} stands for a value that is stored for the same address, but there is none: send the value itself`;

function presentMembers(address: object, secrets: SecretMembers<never> | undefined) {
  return (secrets?.members ?? []).flatMap((name) => {
    const value = asMembers(address)[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

const valuesOf = (value: Value): string[] => (typeof value === 'string' ? [value] : Object.values(value));

const maskValue = (value: Value): Value =>
  typeof value === 'string' ? MASK : Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));

/** The names in a record are names of headers, so their case is ignored. */
function fillValue(value: Value, storedValue: Value | undefined): Value | undefined {
  if (typeof value === 'string') return value === MASK ? textOf(storedValue) : value;
  const stored = Object.entries(typeof storedValue === 'object' ? storedValue : {});
  const texts = new Map(stored.map(([name, text]) => [name.toLowerCase(), text]));
  const filled = Object.entries(value).map(
    ([name, text]) => [name, text === MASK ? texts.get(name.toLowerCase()) : text] as const,
  );
  if (filled.some(([, text]) => text === undefined)) return undefined;
  return Object.fromEntries(filled) as Record<string, string>;
}

const textOf = (value: Value | undefined) => (typeof value === 'string' ? value : undefined);
