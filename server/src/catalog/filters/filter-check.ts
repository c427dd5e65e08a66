import { type Filter, listConditions } from './filter.ts';
import { CONDITIONS_PER_FILTER, FILTER_DEPTH, FILTER_OPERATORS, type FilterOperator } from './operators.ts';

/** What a filter must be to be stored. Source: docs/interface.md §12.2. */

const LISTED = 10_000;
const TEXT_LENGTH = 65_536;
const PATH_LENGTH = 20;

/**
 * @param path where the filter stands in a body
 * @returns what is wrong with it, nothing when it can be stored; whether it can work with the ontology is another question
 */
export function checkFilter(path: string, sent: unknown): string[] {
  const errors = checkPart(path, sent, 1);
  if (errors.length > 0) return errors;
  const conditions = listConditions(sent as Filter).length;
  if (conditions <= CONDITIONS_PER_FILTER) return [];
  return [
    `${path} must hold at most ${CONDITIONS_PER_FILTER} conditions in a depth of at most ${FILTER_DEPTH}, it holds ${conditions}`,
  ];
}

const SHAPE =
  'must be one of {"all":[…]}, {"any":[…]}, {"not":…}, {"attribute","operator","value"?}, {"category":[…]}, {"identifiers":[…]}';

function checkPart(path: string, sent: unknown, depth: number): string[] {
  if (depth > FILTER_DEPTH) return [`${path} is deeper than ${FILTER_DEPTH}`];
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return [`${path} ${SHAPE}`];
  const filter = sent as Record<string, unknown>;
  const fields = Object.keys(filter);
  const [field = ''] = fields;
  if ('attribute' in filter) return checkCondition(path, filter);
  if (fields.length !== 1 || !(field in PARTS)) return [`${path} ${SHAPE}`];
  return PARTS[field as keyof typeof PARTS](`${path}/${field}`, filter[field], depth);
}

const PARTS = {
  all: checkFilters,
  any: checkFilters,
  not: (path: string, sent: unknown, depth: number) => checkPart(path, sent, depth + 1),
  category: (path: string, sent: unknown) => checkTexts(path, sent, PATH_LENGTH),
  identifiers: (path: string, sent: unknown) => checkTexts(path, sent, LISTED),
};

function checkFilters(path: string, sent: unknown, depth: number): string[] {
  if (!Array.isArray(sent)) return [`${path} must be array`];
  if (sent.length > CONDITIONS_PER_FILTER)
    return [`${path} must NOT have more than ${CONDITIONS_PER_FILTER} items`];
  return sent.flatMap((one, at) => checkPart(`${path}/${at}`, one, depth + 1));
}

function checkTexts(path: string, sent: unknown, most: number): string[] {
  if (!Array.isArray(sent) || sent.some((one) => !isText(one))) return [`${path} must be array of strings`];
  return sent.length > most ? [`${path} must NOT have more than ${most} items`] : [];
}

const isText = (sent: unknown): sent is string => typeof sent === 'string' && sent.length <= TEXT_LENGTH;
const isValue = (sent: unknown) => isText(sent) || typeof sent === 'number' || typeof sent === 'boolean';

function checkCondition(
  path: string,
  { attribute, operator, value, ...others }: Record<string, unknown>,
): string[] {
  const unknown = Object.keys(others).map((name) => `${path} must NOT have additional properties: ${name}`);
  if (unknown.length > 0) return unknown;
  if (!isText(attribute)) return [`${path}/attribute must be string`];
  if (!FILTER_OPERATORS.includes(operator as FilterOperator)) {
    return [`${path}/operator must be equal to one of ${FILTER_OPERATORS.join(', ')}`];
  }
  return checkOperand(`${path}/value`, operator as FilterOperator, value);
}

function checkOperand(path: string, operator: FilterOperator, value: unknown): string[] {
  const { takes, isGood } = OPERANDS[operator as keyof typeof OPERANDS] ?? SINGLE;
  return isGood(value) ? [] : [`${path} must be ${takes} for ${operator}`];
}

const isListOf = (value: unknown, most: number) =>
  Array.isArray(value) && value.length <= most && value.every(isValue);

const SINGLE = { takes: 'string, number or boolean', isGood: isValue };
const OPERANDS = {
  exists: { takes: 'left out', isGood: (value: unknown) => value === undefined || value === true },
  in: { takes: `array of at most ${LISTED} values`, isGood: (value: unknown) => isListOf(value, LISTED) },
  between: {
    takes: '[low, high]',
    isGood: (value: unknown) => isListOf(value, 2) && (value as unknown[]).length === 2,
  },
};
