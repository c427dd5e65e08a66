import { ServiceError } from '../../kernel/errors.ts';
import { IDENTIFIERS_PER_REQUEST } from './schemas/schemas.ts';

/** @throws query_invalid, too_many_identifiers */
export const readIdentifiers = (parameter: string | readonly string[] | undefined): readonly string[] =>
  checkIdentifiers(readIdentifierList(parameter));

/**
 * Reads the parameter `identifiers`, of any length. A single value that begins with `[` or `{` is a JSON array of
 * strings; otherwise each value is one literal identifier. Source: docs/interface §4.2.
 * @returns the identifiers in the order of the request, with repetitions
 * @throws query_invalid
 */
export function readIdentifierList(parameter: string | readonly string[] | undefined): readonly string[] {
  const values = parameter === undefined ? [] : [parameter].flat();
  const [first] = values;
  if (first === undefined || values.includes(''))
    throw refuse('must have at least one identifier and no empty one');
  return values.length === 1 && isJson(first) ? parseList(first) : values;
}

const isJson = (value: string) => /^[[{]/.test(value);

/**
 * Refuses a handwritten list with commas, which would be one identifier that no product has. `isKnown` returns
 * whether the catalog has any of the identifiers.
 * @throws query_invalid that shows the right form
 */
export async function refuseCommas(
  parameter: string | readonly string[] | undefined,
  isKnown: (identifiers: readonly string[]) => Promise<boolean>,
): Promise<void> {
  if (typeof parameter !== 'string' || !parameter.includes(',') || isJson(parameter)) return;
  const parts = parameter.split(',').map((part) => part.trim());
  if ((await isKnown([parameter])) || !(await isKnown(parts))) return;
  throw refuse(
    `has several identifiers; send them as a JSON array, identifiers=${JSON.stringify(parts.slice(0, 10))}`,
  );
}

/** @throws too_many_identifiers */
export function checkIdentifiers(list: readonly string[]): readonly string[] {
  if (list.length > IDENTIFIERS_PER_REQUEST)
    throw new ServiceError('too_many_identifiers', { values: [list.length, IDENTIFIERS_PER_REQUEST] });
  return list;
}

function parseList(text: string): string[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw refuse(`must be a JSON array of strings: ${(error as Error).message}`);
  }
  if (!Array.isArray(list) || list.some((identifier) => typeof identifier !== 'string' || identifier === ''))
    throw refuse('must be a JSON array of strings that are not empty');
  return list as string[];
}

const refuse = (message: string) => new ServiceError('query_invalid', `/identifiers ${message}`);
