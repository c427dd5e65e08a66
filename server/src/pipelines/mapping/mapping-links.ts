import { type CompiledColumn, MappingProblem, type RowView } from './mapping-columns.ts';
import { findTextProblem, type MapPart, note, toList } from './mapping-parts.ts';
import type { Column, Mapping } from './mapping-schemas.ts';

/** Links of rows: a source, and its targets in the order of the columns. Source: docs/interface.md §13.9. */

/** What a mapping of links may have. */
const PARTS = new Set(['source', 'targets', 'separator', 'filter']);
const OWN_PARTS = ['source', 'targets', 'separator'] as const;
/** Source: docs/interface.md §12.8. Here they are checked by column, so that a report can name it. */
const IDENTIFIER_LENGTH = 255;
const TARGETS = 1_000;

type Compile = (column: Column, field: string) => CompiledColumn;

/** @throws MappingProblem */
export function planLinks(
  mapping: Mapping,
  compile: Compile,
): { readonly source: CompiledColumn; readonly part: MapPart } {
  const { source, targets, separator } = mapping;
  if (source === undefined || targets === undefined)
    throw new MappingProblem('source and targets are needed in mode links');
  const others = Object.keys(mapping).filter((name) => !PARTS.has(name));
  if (others.length > 0) throw new MappingProblem(`${others.join(', ')}: must be left out in mode links`);
  const columns = [targets].flat().map((column) => compile(splitBy(column, separator), 'targets'));
  return { source: compile(source, 'source'), part: mapTargets(columns) };
}

/** @throws MappingProblem */
export function refuseLinks(mapping: Mapping, mode: string): void {
  const found = OWN_PARTS.filter((name) => mapping[name] !== undefined);
  if (found.length > 0)
    throw new MappingProblem(`${found.join(', ')}: only for the mode links, this is mode ${mode}`);
}

function splitBy(column: Column, separator: string | undefined): Column {
  if (separator === undefined) return column;
  const spec = typeof column === 'string' ? { column } : column;
  return { split: separator, trim: true, ...spec };
}

function mapTargets(columns: readonly CompiledColumn[]): MapPart {
  const field = 'targets';
  return (row, product) => {
    const targets = new Set(columns.flatMap((column) => readTargets(column, row)));
    if (targets.size > TARGETS) note(row, { field, reason: `are more than ${TARGETS}` });
    product.targets = [...targets];
  };
}

function readTargets(column: CompiledColumn, row: RowView): readonly string[] {
  const targets = toList(column.read(row));
  const reason = targets.map((target) => findTextProblem(target, IDENTIFIER_LENGTH)).find(Boolean);
  if (reason !== undefined) note(row, { field: 'targets', column, reason });
  return targets;
}
