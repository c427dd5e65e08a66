import { ServiceError } from '../../kernel/errors.ts';
import { type ExpectedStates, markOf } from '../../storage/storage.ts';
import { type Attribute, knownAliases, type Ontology, type OntologyMode } from './attribute.ts';
import { describeDefinition } from './ontology-draft.ts';
import { isUnit, nameInTable, type UnitAliases } from './units.ts';

/** An ontology that is to replace the present one. */
export interface RequestedOntology {
  /** By `markOfOntology`. */
  readonly expected?: ExpectedStates;
  readonly mode: OntologyMode;
  readonly unitAliases?: UnitAliases | undefined;
  readonly attributes: readonly (Omit<Attribute, 'id'> & { readonly id?: number | undefined })[];
}

/** What replacing an ontology does to attributes and to the names that have ids for ever. */
export interface AttributePlan {
  readonly attributes: readonly Attribute[];
  /** Names that no longer mean an attribute, because it has another name now. */
  readonly forgotten: readonly string[];
  /** Names with the ids that they have from now on. */
  readonly named: readonly (readonly [name: string, id: number])[];
  readonly nextId: number;
}

/**
 * An attribute with a known id or name is that one, whatever else changed; others are new. `known`: ids of those of
 * the requested names that ever had one. Source: docs/interface.md §11.1.
 */
export function identifyAttributes(
  present: readonly Attribute[],
  requested: RequestedOntology['attributes'],
  { known, nextId }: { known: ReadonlyMap<string, number>; nextId: number },
): AttributePlan {
  const byId = new Map(present.map((attribute) => [attribute.id, attribute]));
  const byName = new Map(present.map((attribute) => [attribute.name, attribute]));
  const ids = new Map(known);
  const isKnown = (id: number | undefined): id is number => id !== undefined && byId.has(id);
  const renamed = requested.filter(({ id, name }) => isKnown(id) && byId.get(id)?.name !== name);
  const forgotten = renamed.map(({ id }) => byId.get(Number(id))?.name ?? '');
  for (const [at, name] of forgotten.entries()) if (ids.get(name) === renamed[at]?.id) ids.delete(name);
  for (const { id, name } of renamed) ids.set(name, Number(id));
  let next = nextId;
  const attributes = requested.map((attribute) => {
    const id = isKnown(attribute.id) ? attribute.id : (ids.get(attribute.name) ?? next++);
    if (!isKnown(attribute.id)) ids.set(attribute.name, id);
    return explainType({ ...attribute, id }, byId.get(id) ?? byName.get(attribute.name));
  });
  const named = [...ids].filter(([name, id]) => known.get(name) !== id);
  return { attributes, forgotten: forgotten.filter((name) => !ids.has(name)), named, nextId: next };
}

/** An attribute that a person writes or changes has no reason of the service, and one that is changed waits for no update. */
function explainType({ reason, typing, ...requested }: Attribute, present: Attribute | undefined): Attribute {
  const isSame = present !== undefined && describeDefinition(present) === describeDefinition(requested);
  if (!isSame && present?.typing !== undefined) return requested;
  if (typing !== undefined) return { ...requested, typing };
  return isSame && reason !== undefined && present.reason !== undefined
    ? { ...requested, reason: present.reason }
    : requested;
}

/** @returns an ontology as it is answered */
export function documentOf({ mode, unitAliases, attributes }: Omit<Ontology, 'revision'>) {
  const own = attributes.map(({ unitAliases: _, ...attribute }) => attribute);
  return { mode, ...knownAliases(unitAliases), attributes: own };
}

/** @returns the mark of an ontology as it is answered */
export const markOfOntology = (ontology: Omit<Ontology, 'revision'>): string => markOf(documentOf(ontology));

/** Whether nothing would change. */
export const isSameOntology = (present: Described, requested: Described): boolean =>
  describe(present) === describe(requested);

/** Whether replacing the present ontology once more would change nothing: what was new has its id by now. */
export function isInPlace(present: Ontology, requested: RequestedOntology): boolean {
  const known = new Map(present.attributes.map(({ name, id }) => [name, id]));
  const { attributes } = identifyAttributes(present.attributes, requested.attributes, { known, nextId: 0 });
  return isSameOntology(present, { ...requested, attributes });
}

/** As it is, or as it is wanted: without ids of what is new. */
type Described = Pick<RequestedOntology, 'mode' | 'unitAliases' | 'attributes'>;

/** Aliases as they are stored: the same text for the same aliases. */
export const writeAliases = (unitAliases: UnitAliases = {}): string =>
  JSON.stringify(Object.fromEntries(Object.entries(unitAliases).sort(([a], [b]) => (a < b ? -1 : 1))));

/** Same fields in the same order, so that equal definitions are equal text. */
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
 * What the schema of the document cannot say: units belong to numbers, and a key means one attribute.
 * Source: docs/interface.md §11.1. @throws request_invalid that names every wrong attribute
 */
export function checkOntology({ unitAliases = {}, attributes }: RequestedOntology): void {
  const problems = [
    ...findUselessAliases(unitAliases),
    ...attributes.flatMap((attribute, at) => findNumericOnly(attribute, `/attributes/${at}`)),
    ...findRepeated(
      attributes,
      ({ name, synonyms = [] }) => [...new Set([name, ...synonyms])],
      'takes the key',
    ),
    ...findRepeated(attributes, ({ id }) => (id === undefined ? [] : [id]), 'has the id'),
  ];
  if (problems.length > 0) throw new ServiceError('request_invalid', { details: problems.slice(0, 100) });
}

function findUselessAliases(unitAliases: UnitAliases): string[] {
  return Object.entries(unitAliases).flatMap(([alias, unit]) => {
    const place = `/unitAliases/${alias}`;
    if (isUnit(alias)) return [`${place} is ${nameInTable(alias)} already`];
    return isUnit(unit)
      ? []
      : [`${place} must be a unit that the table of units has, such as in or kg, not ${unit}`];
  });
}

export type RequestedAttribute = RequestedOntology['attributes'][number];

/** @param place of the attribute in the body */
export function findNumericOnly({ type, unitName, decimal }: RequestedAttribute, place: string): string[] {
  if (type === 'NUMERIC_ATTRIBUTE') return [];
  return Object.entries({ unitName, decimal }).flatMap(([field, value]) =>
    value === undefined ? [] : [`${place}/${field} is for NUMERIC_ATTRIBUTE only`],
  );
}

function findRepeated(
  attributes: readonly RequestedAttribute[],
  list: (attribute: RequestedAttribute) => readonly (string | number)[],
  verb: string,
): string[] {
  const first = new Map<string | number, number>();
  return attributes.flatMap((attribute, at) =>
    list(attribute).flatMap((key) => {
      const before = first.get(key);
      first.set(key, before ?? at);
      return before === undefined
        ? []
        : [`/attributes/${at} ${verb} ${JSON.stringify(key)} of /attributes/${before}`];
    }),
  );
}
