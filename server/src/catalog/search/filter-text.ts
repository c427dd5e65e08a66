import type { Filter } from '../filters/filters.ts';

/** A filter in a line, as people and agents write it: `TDP > 100 and Brand = Corsair`. */

const PART = /^\s*(?:"([^"]*)"|([^<>=!~"]+?))\s*(?:(<=|>=|!=|<|>|=|~)\s*(?:"([^"]*)"|([^"]*?)))?\s*$/;
const SIGNS = {
  '=': 'equals',
  '!=': 'notEquals',
  '<': 'less',
  '<=': 'lessOrEqual',
  '>': 'greater',
  '>=': 'greaterOrEqual',
  '~': 'contains',
} as const;
/** Outside quotes. */
const AND = /\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/i;

/**
 * @param isNumeric whether numbers of an attribute are compared as numbers
 * @returns undefined when it is no such line
 */
export function readFilterText(text: string, isNumeric: (attribute: string) => boolean): Filter | undefined {
  const all = text.split(AND).map((part) => readPart(part, isNumeric));
  return all.includes(undefined) ? undefined : { all: all as Filter[] };
}

function readPart(part: string, isNumeric: (attribute: string) => boolean): Filter | undefined {
  const match = PART.exec(part);
  if (match === null) return undefined;
  const attribute = match[1] ?? match[2] ?? '';
  const operator = SIGNS[match[3] as keyof typeof SIGNS];
  if (operator === undefined) return { attribute, operator: 'exists' };
  const value = match[4] ?? match[5] ?? '';
  const isNumber = /^[+-]?\d+(\.\d+)?$/.test(value) && isNumeric(attribute);
  return { attribute, operator, value: isNumber ? Number(value) : value };
}
