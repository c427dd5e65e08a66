import { ServiceError } from '../../kernel/errors.ts';

const MAX_DEPTH = 20;

/** Reads a category of a query. @throws query_invalid */
export function readCategory(parameter: string, text: string): string[] {
  const path = readNames(text);
  if (path !== undefined && path.length >= 1 && path.length <= MAX_DEPTH) return path;
  throw new ServiceError('query_invalid', {
    details: [`/${parameter} must be a JSON list of 1 to ${MAX_DEPTH} names, such as ["Tools","Drills"]`],
  });
}

/** @returns a JSON list of texts; undefined for anything else */
function readNames(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    // Told to the caller with an example, whatever the parser met.
    return undefined;
  }
}
