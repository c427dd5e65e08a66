import { isDeepStrictEqual } from 'node:util';
import type { ChosenProject } from '../../../kernel/caller.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import type { Author } from '../../../projects/projects.ts';
import { type ExpectedStates, markOf } from '../../../storage/storage.ts';
import { type Attribute, type Ontology, type OntologyMode, toAliasMember } from '../attribute.ts';
import { describeDefinition } from '../drafts/drafts.ts';
import type { SentAttribute } from '../ontology-schemas.ts';
import { isUnit, nameInTable, type UnitAliases } from '../units/units.ts';

export interface RequestedOntology {
  /** The mark, from `markOfOntology`. */
  readonly expected?: ExpectedStates;
  readonly mode: OntologyMode;
  readonly unitAliases?: UnitAliases | undefined;
  readonly attributes: readonly (Omit<Attribute, 'id'> & { readonly id?: number | undefined })[];
}

/**
 * Assigns ids to the requested attributes. An attribute with the id or name of an earlier one keeps that id, whatever
 * else changed; all others are new. `idByName` has the ids of requested names that had one before. Source:
 * docs/interface §11.1.
 * @returns `forgotten`: names that no longer mean an attribute, because it was renamed; `named`: names with their new
 * ids
 */
export function identifyAttributes(
  present: readonly Attribute[],
  requested: RequestedOntology['attributes'],
  { known: idByName, nextId }: { known: ReadonlyMap<string, number>; nextId: number },
) {
  const byId = new Map(present.map((attribute) => [attribute.id, attribute]));
  const byName = new Map(present.map((attribute) => [attribute.name, attribute]));
  const ids = new Map(idByName);
  const isKnown = (id: number | undefined): id is number => id !== undefined && byId.has(id);
  const renamed = requested.filter(({ id, name }) => isKnown(id) && byId.get(id)?.name !== name);
  const forgotten = renamed.map(({ id }) => byId.get(Number(id))?.name ?? '');
  for (const [index, name] of forgotten.entries()) if (ids.get(name) === renamed[index]?.id) ids.delete(name);
  for (const { id, name } of renamed) ids.set(name, Number(id));
  let next = nextId;
  const attributes = requested.map((attribute) => {
    const id = isKnown(attribute.id) ? attribute.id : (ids.get(attribute.name) ?? next++);
    if (!isKnown(attribute.id)) ids.set(attribute.name, id);
    return explainType({ ...attribute, id }, byId.get(id) ?? byName.get(attribute.name));
  });
  const named = [...ids].filter(([name, id]) => idByName.get(name) !== id);
  return { attributes, forgotten: forgotten.filter((name) => !ids.has(name)), named, nextId: next };
}

/**
 * Drops the reason of an attribute that a person writes or changes, because the service gave it. A changed attribute
 * no longer waits for an update.
 */
function explainType({ reason, typing, ...requested }: Attribute, present: Attribute | undefined): Attribute {
  const isSame = present !== undefined && describeDefinition(present) === describeDefinition(requested);
  if (!isSame && present?.typing !== undefined) return requested;
  if (typing !== undefined) return { ...requested, typing };
  return isSame && reason !== undefined && present.reason !== undefined
    ? { ...requested, reason: present.reason }
    : requested;
}

/** @returns an ontology in the form of an answer */
export function documentOf({ mode, unitAliases, attributes }: Omit<Ontology, 'revision'>) {
  const own =
    unitAliases === undefined ? attributes : attributes.map(({ unitAliases: _, ...attribute }) => attribute);
  return { mode, ...toAliasMember(unitAliases), attributes: own };
}

/** @returns the mark of an ontology, computed from its answer */
export const markOfOntology = (ontology: Omit<Ontology, 'revision'>): string => markOf(documentOf(ontology));

export const isSameOntology = (present: Described, requested: Described): boolean =>
  describe(present) === describe(requested);

/** @returns whether replacing the present ontology again would change nothing; by now its new attributes have ids */
export function isInPlace(present: Ontology, requested: RequestedOntology): boolean {
  const idByName = new Map(present.attributes.map(({ name, id }) => [name, id]));
  const { attributes } = identifyAttributes(present.attributes, requested.attributes, {
    known: idByName,
    nextId: 0,
  });
  return isSameOntology(present, { ...requested, attributes });
}

/** A present or a requested ontology; new attributes of a request have no ids. */
type Described = Pick<RequestedOntology, 'mode' | 'unitAliases' | 'attributes'>;

/** @returns aliases in stored form; equal aliases give equal text */
export const writeAliases = (unitAliases: UnitAliases = {}): string =>
  JSON.stringify(Object.fromEntries(Object.entries(unitAliases).sort(([a], [b]) => (a < b ? -1 : 1))));

/** @returns a text of the definition; equal definitions give equal text, with the same fields in the same order */
function describe({ mode, unitAliases, attributes }: Described): string {
  const sorted = [...attributes]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ id, name, type, unitName, decimal, synonyms, typing }) => [
      ...[id, name, type],
      ...[unitName, decimal, synonyms ?? [], typing],
    ]);
  return JSON.stringify([mode, writeAliases(unitAliases), sorted]);
}

/**
 * Checks the rules that the schema of the document cannot express: only numbers have units, and a key means one
 * attribute. Source: docs/interface §11.1.
 * @throws request_invalid that names every wrong attribute
 */
export function checkOntology({ unitAliases = {}, attributes }: RequestedOntology): void {
  const problems = [
    ...findUselessAliases(unitAliases),
    ...attributes.flatMap((attribute, index) => findNumericOnly(attribute, `/attributes/${index}`)),
    ...findRepeated(
      attributes,
      ({ name, synonyms = [] }) => [...new Set([name, ...synonyms])],
      'uses the key',
    ),
    ...findRepeated(attributes, ({ id }) => (id === undefined ? [] : [id]), 'has the id'),
  ];
  if (problems.length > 0) throw new ServiceError('request_invalid', { details: problems.slice(0, 100) });
}

function findUselessAliases(unitAliases: UnitAliases): string[] {
  return Object.entries(unitAliases).flatMap(([alias, unit]) => {
    const path = `/unitAliases/${alias}`;
    if (isUnit(alias)) return [`${path} is ${nameInTable(alias)} already`];
    return isUnit(unit)
      ? []
      : [`${path} must be a unit of the table of units, such as in or kg, but is ${unit}`];
  });
}

export type RequestedAttribute = RequestedOntology['attributes'][number];

/** @param path the path of the attribute in the body */
export function findNumericOnly({ type, unitName, decimal }: RequestedAttribute, path: string): string[] {
  if (type === 'NUMERIC_ATTRIBUTE') return [];
  return Object.entries({ unitName, decimal }).flatMap(([field, value]) =>
    value === undefined ? [] : [`${path}/${field} is for NUMERIC_ATTRIBUTE only`],
  );
}

function findRepeated(
  attributes: readonly RequestedAttribute[],
  list: (attribute: RequestedAttribute) => readonly (string | number)[],
  verb: string,
): string[] {
  const first = new Map<string | number, number>();
  return attributes.flatMap((attribute, index) =>
    list(attribute).flatMap((key) => {
      const before = first.getOrInsert(key, index);
      return before === index
        ? []
        : [`/attributes/${index} ${verb} ${JSON.stringify(key)} of /attributes/${before}`];
    }),
  );
}

/** Renames attributes together with the definitions that name them. Source: docs/interface §11.8. */

/** New names by former names. Several attributes may change names together, and may even swap them. */
export type Renames = Readonly<Record<string, string>>;

/**
 * @returns the attributes with their new names, and the renames
 * @throws request_invalid for a name that belongs to no attribute
 */
export function applyRenames(present: readonly Attribute[], sent: readonly SentAttribute[]) {
  const details: string[] = [];
  const renames = new Map<string, string>();
  const attributes = sent.map(({ renameTo, keepSynonym = true, ...attribute }, index) => {
    if (renameTo === undefined) return attribute;
    const existing = findPresent(present, attribute, renameTo);
    // Uses the present name, because a caller may identify the attribute by its id and send an older name.
    const from = existing?.name ?? attribute.name;
    if (existing === undefined)
      details.push(`/attributes/${index} cannot be renamed: no attribute is called ${JSON.stringify(from)}`);
    if (from !== renameTo) renames.set(from, renameTo);
    const former = keepSynonym && from !== renameTo ? [from] : [];
    return toRenamed({ ...attribute, id: existing?.id, name: renameTo }, { from, former });
  });
  if (details.length > 0) throw new ServiceError('request_invalid', { details: details.slice(0, 100) });
  return { attributes, renames: Object.fromEntries(renames) as Renames };
}

/** Removes both names from the synonyms, because a key is either a name or a synonym. */
function toRenamed(
  { synonyms = [], ...attribute }: RequestedAttribute,
  { from, former }: { readonly from: string; readonly former: readonly string[] },
): RequestedAttribute {
  const others = [...synonyms.filter((key) => key !== attribute.name && key !== from), ...former];
  return { ...attribute, ...(others.length > 0 && { synonyms: others }) };
}

/** A repeated request has the former name, so this also searches for the new name. */
const findPresent = (present: readonly Attribute[], { id, name }: RequestedAttribute, renameTo: string) =>
  present.find((attribute) => attribute.id === id) ??
  present.find((attribute) => attribute.name === name) ??
  present.find((attribute) => attribute.name === renameTo);

/** A definition that may name attributes. */
export interface NamingDefinition {
  readonly kind: 'relation' | 'channel' | 'pipeline' | 'project';
  readonly id: number;
  readonly name: string;
  /** The part that names attributes, in the form that callers send. */
  readonly definition: object;
  /** Stores the definition with the new names; absent if it keeps the former name, which remains a synonym. */
  replace?(definition: object, author: Author): Promise<unknown>;
}

/** @returns all definitions of a project that may name attributes */
export type ListNaming = (project: ChosenProject) => Promise<readonly NamingDefinition[]>;

/** A definition that names an attribute. */
export interface AttributeUse extends Pick<NamingDefinition, 'kind' | 'id' | 'name'> {
  readonly isRenamed: boolean;
}

/** @returns the definitions that name one of the attributes */
export function listUses(definitions: readonly NamingDefinition[], renames: Renames): AttributeUse[] {
  return definitions
    .filter(({ definition }) => !isDeepStrictEqual(renameWithin(definition, renames), definition))
    .map(({ kind, id, name, replace }) => ({ kind, id, name, isRenamed: replace !== undefined }));
}

/**
 * Changes the names in all definitions. A definition that has the new names already is skipped, so repeating it is
 * safe.
 */
export async function renameUses(definitions: readonly NamingDefinition[], renames: Renames, author: Author) {
  for (const { definition, replace } of definitions) {
    const renamed = renameWithin(definition, renames) as object;
    if (isDeepStrictEqual(renamed, definition)) continue;
    await replace?.(renamed, author).catch((error: unknown) => {
      // A definition that is refused for another reason keeps the former name. Its own problem shows the missing
      // attribute.
      if (!(error instanceof ServiceError)) throw error;
    });
  }
}

/** Members whose text is the name of an attribute. */
const NAMING = new Set(['attribute', 'source', 'target', 'brandAttribute', 'priceAttribute']);

/**
 * @param key of the member that has the value
 * @returns the value with renamed attributes; the keys of `attributes` are names too
 */
function renameWithin(value: unknown, renames: Renames, key = ''): unknown {
  const nameOf = (name: string) => (Object.hasOwn(renames, name) ? (renames[name] as string) : name);
  if (Array.isArray(value)) return value.map((item) => renameWithin(item, renames));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([name, member]) => [
      key === 'attributes' ? nameOf(name) : name,
      renameWithin(member, renames, name),
    ]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== 'string') return value;
  // `{{` and `}}` are literal braces.
  if (key === 'template')
    return value.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (match, name?: string) =>
      name === undefined ? match : `{${nameOf(name)}}`,
    );
  return NAMING.has(key) ? nameOf(value) : value;
}
