import { ServiceError } from '../../kernel/errors.ts';
import type { RequestedOntology } from './ontology-change.ts';
import { isUnit, nameInTable, type UnitAliases } from './units.ts';

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
