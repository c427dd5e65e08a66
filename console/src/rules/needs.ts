import type { Filter } from '@relata/client';
import { t } from '../languages/text.ts';
import { describeFilter, isCondition, showValue } from './filters.ts';

/** @returns `Rated would have to be at least 50 Nm` */
export function sayNeed(what: string, operator: string, value: string): string {
  const words = { what, value };
  switch (operator) {
    case 'equals':
      return t('{what} would have to be {value}', words);
    case 'notEquals':
      return t('{what} would have to be other than {value}', words);
    case 'less':
      return t('{what} would have to be less than {value}', words);
    case 'lessOrEqual':
      return t('{what} would have to be at most {value}', words);
    case 'greater':
      return t('{what} would have to be more than {value}', words);
    case 'greaterOrEqual':
      return t('{what} would have to be at least {value}', words);
    case 'in':
      return t('{what} would have to be one of {value}', words);
    case 'between':
      return t('{what} would have to be between {value}', words);
    case 'contains':
      return t('{what} would have to contain {value}', words);
    default:
      return t('{what} would need a value', words);
  }
}

/** @returns what a product would have to be to meet a condition */
export function sayFilterNeed(filter: Filter): string {
  if ('category' in filter)
    return t('It would have to be in the category {path}', { path: filter.category.join(' › ') });
  if ('identifiers' in filter)
    return t('It would have to be one of {identifiers}', { identifiers: filter.identifiers.join(', ') });
  if (!isCondition(filter)) return describeFilter(filter);
  const { attribute, operator, value } = filter;
  const isRange = operator === 'between' && Array.isArray(value);
  return sayNeed(attribute, operator, isRange ? value.join(` ${t('and')} `) : showValue(value));
}

/** What the other side of a match would have to be. */
const MIRRORED: Readonly<Record<string, string>> = {
  less: 'greater',
  lessOrEqual: 'greaterOrEqual',
  greater: 'less',
  greaterOrEqual: 'lessOrEqual',
};

export const mirror = (operator: string): string => MIRRORED[operator] ?? operator;
