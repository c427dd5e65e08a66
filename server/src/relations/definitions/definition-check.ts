import { boundLines } from '../../kernel/bounded-lines.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { depthOf, FILTER_OPERATORS, listConditions } from './filter.ts';
import type { Filter, FilterOperator, RelationDefinition } from './relation.ts';

/**
 * What a definition must be to be stored; whether it can work with the ontology is another question. Source:
 * docs/interface.md §12.1 and §12.2.
 */

export type SentDefinition = Pick<RelationDefinition, 'name' | 'tag'> & {
  readonly source: unknown;
  readonly target: unknown;
} & Partial<Omit<RelationDefinition, 'name' | 'tag' | 'source' | 'target'>>;

const CONDITIONS = 100;
const DEPTH = 10;
const LISTED = 10_000;
const TEXT_LENGTH = 65_536;
const PATH_LENGTH = 20;

/**
 * @param path where the definition stands in the body
 * @returns the definition with its defaults @throws request_invalid that names every mistake in the filters
 */
export function checkDefinition(sent: SentDefinition, path = ''): RelationDefinition {
  const errors = [...checkSide(`${path}/source`, sent.source), ...checkSide(`${path}/target`, sent.target)];
  if (errors.length > 0) {
    const shown = boundLines(errors, { most: 20, bytes: 8 * 1024 });
    throw new ServiceError('request_invalid', {
      details: shown,
      validation: [{ product: null, schemaErrors: shown, errors: shown }],
    });
  }
  const { description } = sent;
  return {
    name: sent.name,
    tag: sent.tag,
    ...(description !== undefined && { description }),
    twoWay: sent.twoWay ?? false,
    enabled: sent.enabled ?? true,
    source: sent.source as Filter,
    target: sent.target as Filter,
    match: sent.match ?? [],
    sort: sent.sort ?? [],
    names: sent.names ?? [],
    excludeSameGroup: sent.excludeSameGroup ?? true,
  };
}

function checkSide(path: string, sent: unknown): string[] {
  const errors = checkFilter(path, sent, 1);
  if (errors.length > 0) return errors;
  const conditions = listConditions(sent as Filter).length;
  if (conditions <= CONDITIONS && depthOf(sent as Filter) <= DEPTH) return [];
  return [
    `${path} must hold at most ${CONDITIONS} conditions in a depth of at most ${DEPTH}, it holds ${conditions}`,
  ];
}

const SHAPE =
  'must be one of {"all":[…]}, {"any":[…]}, {"not":…}, {"attribute","operator","value"?}, {"category":[…]}, {"identifiers":[…]}';

function checkFilter(path: string, sent: unknown, depth: number): string[] {
  if (depth > DEPTH) return [`${path} is deeper than ${DEPTH}`];
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
  not: (path: string, sent: unknown, depth: number) => checkFilter(path, sent, depth + 1),
  category: (path: string, sent: unknown) => checkTexts(path, sent, PATH_LENGTH),
  identifiers: (path: string, sent: unknown) => checkTexts(path, sent, LISTED),
};

function checkFilters(path: string, sent: unknown, depth: number): string[] {
  if (!Array.isArray(sent)) return [`${path} must be array`];
  if (sent.length > CONDITIONS) return [`${path} must NOT have more than ${CONDITIONS} items`];
  return sent.flatMap((one, at) => checkFilter(`${path}/${at}`, one, depth + 1));
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
