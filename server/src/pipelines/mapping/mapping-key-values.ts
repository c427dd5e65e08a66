import { addCell, type Mapped, push } from './mapping-attributes.ts';
import { type CompiledColumn, quote } from './mapping-columns.ts';
import { type MapPart, note, toList } from './mapping-parts.ts';
import type { KeyValuesSpec } from './mapping-schemas.ts';

interface KeyValue {
  readonly key: string;
  readonly value: string;
}

/** Attributes that a cell brings with their keys, as Magento's additional_attributes: `color=red,size=M`. */
export function mapKeyValues(column: CompiledColumn, spec: KeyValuesSpec, removesEmpty: boolean): MapPart {
  return (row, product) => {
    for (const text of toList(column.read(row))) {
      const pairs = readKeyValues(text, spec);
      const reason = `${quote(text)} does not begin with a key`;
      if (pairs === undefined) note(row, { field: 'keyValues', column, reason });
      else for (const pair of pairs) addPair(pair, { ...spec, removesEmpty }, { row, product });
    }
  };
}

type PairSpec = KeyValuesSpec & { readonly removesEmpty: boolean };

function addPair({ key, value }: KeyValue, { split, removesEmpty }: PairSpec, mapped: Mapped): void {
  if (removesEmpty && value === '') push(mapped.product, { key, value: null });
  const values = split === undefined ? [value] : value.split(split);
  for (const one of values) addCell(key, one.trim(), mapped);
}

/**
 * A value may hold the separator: what follows without a key of its own belongs to it.
 * @returns undefined for a text that does not begin with a key
 */
function readKeyValues(
  text: string,
  { separator = ',', assign = '=' }: Pick<KeyValuesSpec, 'separator' | 'assign'>,
): KeyValue[] | undefined {
  const pairs: { key: string; value: string }[] = [];
  for (const part of text.split(separator)) {
    const at = part.indexOf(assign);
    const key = at === -1 ? '' : part.slice(0, at).trim();
    const last = pairs.at(-1);
    if (key !== '') pairs.push({ key, value: part.slice(at + assign.length).trim() });
    else if (last !== undefined) last.value += separator + part;
    else if (part.trim() !== '') return undefined;
  }
  return pairs;
}
