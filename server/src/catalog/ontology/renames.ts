import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Author } from '../../projects/projects.ts';
import type { Attribute } from './attribute.ts';
import type { RequestedAttribute } from './ontology-change.ts';

/** Renaming attributes together with the definitions that name them. Source: docs/interface.md §11.8. */

/** Former names with the new ones: several attributes may change names at once, also with each other. */
export type Renames = Readonly<Record<string, string>>;

/** An attribute as a caller sends it: its present name, and the one that it is to have. */
export interface SentAttribute extends RequestedAttribute {
  readonly renameTo?: string | undefined;
  /** Whether the former name stays a key of uploads; default: true. */
  readonly keepSynonym?: boolean | undefined;
}

/**
 * @returns the attributes under the names that they are to have, and what was renamed
 * @throws request_invalid for a name that no attribute has
 */
export function applyRenames(present: readonly Attribute[], sent: readonly SentAttribute[]) {
  const details: string[] = [];
  const renames = new Map<string, string>();
  const attributes = sent.map(({ renameTo, keepSynonym = true, ...attribute }, at) => {
    if (renameTo === undefined) return attribute;
    const known = findPresent(present, attribute, renameTo);
    if (known === undefined) details.push(refuseUnknown(at, attribute));
    // Its present name: a caller may know the attribute by its id and send an older one.
    const from = known?.name ?? attribute.name;
    if (from !== renameTo) renames.set(from, renameTo);
    const kept = keepSynonym && from !== renameTo ? [from] : [];
    return toRenamed({ ...attribute, id: known?.id, name: renameTo }, { from, kept });
  });
  if (details.length > 0) throw new ServiceError('request_invalid', { details: details.slice(0, 100) });
  return { attributes, renames: Object.fromEntries(renames) as Renames };
}

/** A key is a name or a synonym, never both. */
function toRenamed(
  { synonyms = [], ...attribute }: RequestedAttribute,
  { from, kept }: { readonly from: string; readonly kept: readonly string[] },
): RequestedAttribute {
  const others = [...synonyms.filter((key) => key !== attribute.name && key !== from), ...kept];
  return { ...attribute, ...(others.length > 0 && { synonyms: others }) };
}

const refuseUnknown = (at: number, { name }: RequestedAttribute) =>
  `/attributes/${at} cannot be renamed: no attribute is called ${JSON.stringify(name)}`;

/** A request that is repeated finds the attribute under its new name. */
const findPresent = (present: readonly Attribute[], { id, name }: RequestedAttribute, renameTo: string) =>
  present.find((one) => one.id === id) ??
  present.find((one) => one.name === name) ??
  present.find((one) => one.name === renameTo);

/** A definition that may name attributes. */
export interface NamingDefinition {
  readonly kind: 'relation' | 'channel' | 'pipeline' | 'project';
  readonly id: number;
  readonly name: string;
  /** The part of it that names attributes, as callers send it. */
  readonly definition: object;
  /** Stores it with other names; absent: it goes on under the former name, as a synonym. */
  replace?(definition: object, author: Author): Promise<unknown>;
}

/** @returns all definitions of a project that may name attributes */
export type ListNaming = (project: ChosenProject) => Promise<readonly NamingDefinition[]>;

/** What names an attribute. */
export interface AttributeUse extends Pick<NamingDefinition, 'kind' | 'id' | 'name'> {
  /** Whether a rename changes it too. */
  readonly isRenamed: boolean;
}

/** @returns what names one of the attributes */
export function listUses(definitions: readonly NamingDefinition[], renames: Renames): AttributeUse[] {
  return definitions
    .filter(({ definition }) => !isDeepStrictEqual(renameWithin(definition, renames), definition))
    .map(({ kind, id, name, replace }) => ({ kind, id, name, isRenamed: replace !== undefined }));
}

/** Changes the names in all definitions; one that has them already stays as it is, so that it can be done twice. */
export async function renameUses(
  definitions: readonly NamingDefinition[],
  renames: Renames,
  author: Author,
): Promise<void> {
  for (const { definition, replace } of definitions) {
    const renamed = renameWithin(definition, renames);
    if (isDeepStrictEqual(renamed, definition)) continue;
    await replace?.(renamed, author).catch(keepRefused);
  }
}

/** A definition that is refused for something else in it keeps the former name, and says itself what it lacks. */
function keepRefused(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
}

/** Members whose text is the name of an attribute. */
const NAMING = new Set(['attribute', 'source', 'target', 'brandAttribute', 'priceAttribute']);

/** @returns the same with other names of attributes; keys of `attributes` are names too */
export function renameWithin(value: object, renames: Renames): object {
  const nameOf = (name: string) => (Object.hasOwn(renames, name) ? (renames[name] as string) : name);
  return renameMembers(value, nameOf);
}

type NameOf = (name: string) => string;

function renameMembers(value: object, nameOf: NameOf, key = ''): object {
  if (Array.isArray(value)) return value.map((one) => renameMember(one, nameOf));
  const entries = Object.entries(value).map(([name, one]) => [
    key === 'attributes' ? nameOf(name) : name,
    renameMember(one, nameOf, name),
  ]);
  return Object.fromEntries(entries);
}

function renameMember(value: unknown, nameOf: NameOf, key = ''): unknown {
  if (typeof value === 'object' && value !== null) return renameMembers(value, nameOf, key);
  if (typeof value !== 'string') return value;
  if (key === 'template') return renameInTemplate(value, nameOf);
  return NAMING.has(key) ? nameOf(value) : value;
}

/** `{{` and `}}` are braces of the text. */
const renameInTemplate = (template: string, nameOf: NameOf) =>
  template.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (found, name?: string) =>
    name === undefined ? found : `{${nameOf(name)}}`,
  );
