import { ServiceError } from '../../kernel/errors.ts';
import type { ShopFilter } from './shop-search.ts';

/** Filters as connectors send them: a JSON list, in which values are `{"value"}`, `{"name"}` or the text alone. */

const FILTERS = 50;
const VALUES = 100;
const FORM =
  '/filters must be a JSON list of {"name","values":[{"value"}]} or {"name","min","max"}, of at most 50 filters with 100 values';
const refuse = () => new ServiceError('query_invalid', FORM);

/** @throws query_invalid */
export function readShopFilters(sent: unknown): readonly ShopFilter[] {
  const list = readJson(sent) ?? [];
  if (!Array.isArray(list) || list.length > FILTERS) throw refuse();
  return list.map(readFilter);
}

/** @returns what was sent, or what its JSON says; undefined for nothing @throws query_invalid */
export function readJson(sent: unknown): unknown {
  if (typeof sent !== 'string') return sent ?? undefined;
  if (sent.trim() === '') return undefined;
  try {
    return JSON.parse(sent);
  } catch {
    throw refuse();
  }
}

function readFilter(sent: unknown): ShopFilter {
  const { name, key, values, min, max } = asObject(sent);
  const named = textOf(name ?? key);
  if (named === undefined) throw refuse();
  if (Array.isArray(values) && values.length <= VALUES) return { name: named, values: values.map(readValue) };
  const [from, to] = [readNumber(min, Number.MIN_SAFE_INTEGER), readNumber(max, Number.MAX_SAFE_INTEGER)];
  if (values !== undefined || (min === undefined && max === undefined)) throw refuse();
  return { name: named, min: from, max: to };
}

function readValue(sent: unknown): string {
  const { value, name, key } = typeof sent === 'object' ? asObject(sent) : { value: sent };
  const text = textOf(value ?? name ?? key);
  if (text === undefined) throw refuse();
  return text;
}

function readNumber(sent: unknown, absent: number): number {
  if (sent === undefined || sent === null || sent === '') return absent;
  const number = typeof sent === 'string' ? Number(sent) : sent;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw refuse();
  return number;
}

const asObject = (sent: unknown): Readonly<Record<string, unknown>> =>
  typeof sent === 'object' && sent !== null ? (sent as Readonly<Record<string, unknown>>) : {};

const textOf = (sent: unknown): string | undefined =>
  typeof sent === 'string' || typeof sent === 'number' || typeof sent === 'boolean'
    ? String(sent)
    : undefined;
