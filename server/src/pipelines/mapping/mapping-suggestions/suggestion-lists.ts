import { type Static, Type } from 'typebox';
import type { SourceRow } from '../../../formats/input/input.ts';
import type { Mapping, PipelineMode } from '../mapping-schemas.ts';
import { describeList, findList, findPictures, LIST_SIGNS } from './suggestion-values.ts';

/** A column whose cells look like lists but are mapped as single values. Source: docs/interface §13.5 rule 11. */
export const FoundList = Type.Object(
  {
    field: Type.String({ description: 'the part of the mapping, such as attributes.Socket' }),
    column: Type.String(),
    separator: Type.String({ description: 'the value for split; for targets, the value for separator' }),
    values: Type.Integer({ description: 'the number of different values' }),
    message: Type.String(),
  },
  { title: 'FoundList' },
);
export type FoundList = Static<typeof FoundList>;

/**
 * The parts of a mapping that may mistake a list for one value: attributes, flat categories, images, targets of links.
 */
function listParts(mapping: Partial<Mapping>, columns: readonly string[]): [field: string, spec: unknown][] {
  const { attributes = {}, categories, targets, separator, ignore = [], ...fields } = mapping;
  const named = typeof attributes === 'string' ? [] : Object.entries(attributes);
  const takesRest = attributes === '*' || named.some(([key, spec]) => key === '*' && spec === '*');
  const read = listColumns([...named.map(([, spec]) => spec), categories, ...Object.values(fields)]);
  const used = new Set([...ignore, ...read]);
  const rest = takesRest ? columns.filter((column) => !used.has(column)) : [];
  const flat = [categories ?? []].flat().filter((path) => path.separator === undefined);
  return [
    ...named.map(([key, spec]): [string, unknown] => [`attributes.${key}`, spec]),
    ...rest.map((column): [string, unknown] => [`attributes.${column}`, column]),
    ...flat.map(({ from }): [string, unknown] => ['categories', from]),
    ['images', fields.images],
    ['targets', separator === undefined ? targets : undefined],
  ];
}

/** Lists the columns that a part of a mapping names. */
function listColumns(spec: unknown): string[] {
  if (Array.isArray(spec)) return spec.flatMap(listColumns);
  if (typeof spec === 'string') return [spec];
  type Named = { column?: string; columns?: string[]; from?: unknown };
  const { column, columns = [], from } = (spec ?? {}) as Named;
  return [column ?? [], columns, from === undefined ? [] : listColumns(from)].flat();
}

/** Lists the columns of a part that are not split. */
const plainOf = (spec: unknown): string[] =>
  [spec ?? []].flat().flatMap((part) => (isDivided(part) ? [] : listColumns(part)));

const isDivided = (spec: unknown): boolean =>
  typeof spec === 'object' && spec !== null && ('split' in spec || 'columns' in spec || 'expression' in spec);

/** More rows add little. */
const ROWS = 1_000;

/** @returns the columns that a mapping takes as single values although they look like lists */
export function findUnsplit(
  mapping: Partial<Mapping> = {},
  rows: readonly SourceRow[],
  columns: readonly string[],
): FoundList[] {
  const sampled = rows.slice(0, ROWS);
  const plain = listParts(mapping, columns).flatMap(([field, spec]) =>
    plainOf(spec).map((column) => ({ field, column })),
  );
  return plain.flatMap(({ field, column }) => {
    const cells = sampled.flatMap(({ values }) => (values[column] ? [values[column]] : []));
    const texts = cells.filter((cell) => typeof cell === 'string');
    const find = field === 'images' ? findPictures : findList;
    const evidence = texts.length < cells.length ? undefined : find(texts);
    return evidence === undefined ? [] : [{ field, column, ...evidence, message: describeList(evidence) }];
  });
}

/**
 * Columns of links: related, upsell and cross-sell products of Magento and WooCommerce, references of BMEcat, and
 * similar names.
 */
const LINK_COLUMNS =
  /^(upsells|cross-sells)$|^REFERENCE\.|^(linked|related|up_?sell|cross_?sell|accessory|accessories|compatible|associated|similar|recommended|spare_?part)[ _-]?(skus?|ids?|products?|articles?|identifiers?)$/i;

export const namesLinks = (column: string): boolean => LINK_COLUMNS.test(column);

/** @returns the separator of the identifiers in cells of link columns; a comma if no cell has a separator */
export function findTargetSeparator(rows: readonly SourceRow[], targets: readonly string[]): string {
  const cells = rows.slice(0, ROWS).flatMap(({ values }) => targets.flatMap((name) => values[name] ?? []));
  const counts = LIST_SIGNS.map(({ separator }) => cells.filter((cell) => cell.includes(separator)).length);
  const most = Math.max(...counts);
  return most === 0 ? ',' : (LIST_SIGNS[counts.indexOf(most)]?.separator ?? ',');
}

/** A mapping of products does not read links. A separate pipeline imports them. */
export const listLinkColumns = (mode: PipelineMode, columns: readonly string[]) =>
  mode === 'full' || mode === 'incremental' ? columns.filter(namesLinks) : [];
