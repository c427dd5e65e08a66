/** Seals the secrets of a definition in their own column; the stored definition has *** in their place. */
import { ServiceError } from '../kernel/errors.ts';
import type { SealedColumn, Secrets } from '../storage/secrets/secrets.ts';

/** A definition as stored, with its sealed part. */
export interface Sealable<Definition> {
  readonly id: number;
  readonly projectId: number;
  /** With *** in place of sealed values. */
  readonly definition: Definition;
  /** Undefined if the definition has no secrets. */
  readonly sealed: string | undefined;
}

/** How a kind finds the secrets of its definitions. */
export interface SecretPart<Definition> {
  readonly column: SealedColumn;
  /** @returns the definition with *** in place of secrets */
  mask(definition: Definition): Definition;
  /** @returns the secrets; undefined if there are none, or all are *** */
  pick(definition: Definition): object | undefined;
  /** @returns the masked definition with the picked secrets filled in */
  restore(masked: Definition, picked: object): Definition;
  /** @returns whether a received definition needs stored secrets */
  hasMasked(sent: Definition): boolean;
  /** Replaces each *** by the stored secret. @throws request_invalid if a *** has no stored secret */
  fill(sent: Definition, stored: Definition | undefined): Definition;
}

export const sealedColumnOf = (table: string) =>
  ({ table, column: 'secrets', key: ['project_id', 'id'] }) satisfies SealedColumn;

const placeOf = (
  { column }: { readonly column: SealedColumn },
  { projectId, id }: Pick<Sealable<unknown>, 'projectId' | 'id'>,
) => ({ ...column, row: [projectId, id] });

/** @returns the definition with its secrets. @throws secret_unreadable */
export function openDefinition<Definition>(
  part: SecretPart<Definition>,
  stored: Sealable<Definition>,
  secrets: Secrets,
): Definition {
  const { definition, sealed } = stored;
  if (sealed === undefined) return definition;
  return part.restore(definition, JSON.parse(secrets.unseal(sealed, placeOf(part, stored))) as object);
}

/**
 * @param isNeeded whether the received definition needs the stored secrets
 * @returns the definition with its secrets; masked if they cannot be unsealed and are not needed
 * @throws secret_unreadable
 */
export function openStored<Definition>(
  part: SecretPart<Definition>,
  stored: Sealable<Definition>,
  { secrets, isNeeded }: { readonly secrets: Secrets; readonly isNeeded: boolean },
): Definition {
  try {
    return openDefinition(part, stored, secrets);
  } catch (error) {
    const isUnreadable = error instanceof ServiceError && error.code === 'secret_unreadable';
    if (!isUnreadable || isNeeded) throw error;
    return stored.definition;
  }
}

/** @returns the resource in its stored form. @throws secret_key_missing */
export function sealDefinition<Definition, Resource extends Sealable<Definition>>(
  part: SecretPart<Definition>,
  resource: Resource,
  secrets: Secrets,
): Resource {
  const picked = part.pick(resource.definition);
  if (picked === undefined) return { ...resource, sealed: undefined };
  const sealed = secrets.seal(JSON.stringify(picked), placeOf(part, resource));
  return { ...resource, definition: part.mask(resource.definition), sealed };
}
