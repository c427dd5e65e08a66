import { checkAttributes, mapAttribute, mapRest, type ValueSource } from './mapping-attributes.ts';
import { type CompiledColumn, compileColumn, MappingProblem, type MappingTexts } from './mapping-columns.ts';
import { mapKeyValues } from './mapping-key-values.ts';
import { planLinks, refuseLinks } from './mapping-links.ts';
import {
  findTextProblem,
  type MapPart,
  mapCategories,
  mapImages,
  mapText,
  type PathSource,
} from './mapping-parts.ts';
import type { AttributeSpec, Column, ImageSpec, Mapping, PathSpec, PipelineMode } from './mapping-schemas.ts';

export interface ProductPlan {
  readonly identifier: CompiledColumn;
  /** The part of the mapping that it is from. */
  readonly identifiedBy: 'identifier' | 'source';
  readonly parts: readonly MapPart[];
  /** Columns that are read by name, filters apart. */
  readonly uses: ReadonlySet<string>;
  /** Of these, columns that a source must have. */
  readonly needs: ReadonlySet<string>;
  /** All columns become attributes but for those in `uses` and those that are ignored. */
  readonly takesRest: boolean;
}

interface PlanInput {
  readonly mode: PipelineMode;
  readonly texts: MappingTexts;
}

type Compile = (column: Column, field: string) => CompiledColumn;

/** @throws MappingProblem */
export function planProduct(mapping: Mapping, { mode, texts }: PlanInput): ProductPlan {
  const uses = new Set<string>();
  const needs = new Set<string>();
  const compile: Compile = (column, field) => {
    const compiled = compileColumn(column, { field, texts });
    for (const name of compiled.uses) uses.add(name);
    if (!compiled.isOptional) for (const name of compiled.uses) needs.add(name);
    return compiled;
  };
  if (mode === 'links') {
    const { source, part } = planLinks(mapping, compile);
    return { identifier: source, identifiedBy: 'source', parts: [part], uses, needs, takesRest: false };
  }
  refuseLinks(mapping, mode);
  if (mapping.identifier === undefined) throw new MappingProblem(`identifier is needed in mode ${mode}`);
  const identifier = compile(mapping.identifier, 'identifier');
  const identifiedBy = 'identifier';
  if (mode === 'delete') return { identifier, identifiedBy, parts: [], uses, needs, takesRest: false };
  if (mode !== 'partial' && mapping.name === undefined)
    throw new MappingProblem(`name is needed in mode ${mode}`);
  const { named, takesRest } = readAttributes(mapping);
  const removesEmpty = mode === 'partial' && mapping.emptyCells === 'remove';
  const parts = planFields(mapping, { compile, isNameNeeded: mode !== 'partial' });
  for (const [key, specs] of named) {
    const sources = specs.map((spec) => compileValues(key, spec, compile));
    parts.push(mapAttribute(key, sources, removesEmpty));
  }
  parts.push(...planKeyValues(mapping, compile, removesEmpty));
  if (takesRest) {
    const ignored = new Set(mapping.ignore);
    parts.push(mapRest((column) => uses.has(column) || ignored.has(column), removesEmpty));
  }
  if (mapping.attributes !== undefined) parts.push(checkAttributes);
  return { identifier, identifiedBy, parts, uses, needs, takesRest };
}

function planKeyValues({ keyValues = [] }: Mapping, compile: Compile, removesEmpty: boolean): MapPart[] {
  const parts = keyValues.map((spec) => {
    const { column, optional = false } = spec;
    return mapKeyValues(compile({ column, optional }, 'keyValues'), spec, removesEmpty);
  });
  return parts.length === 0 ? [] : [...parts, checkAttributes];
}

function planFields(
  { groupIdentifier, name, productUrl, images, categories }: Mapping,
  { compile, isNameNeeded }: { compile: Compile; isNameNeeded: boolean },
): MapPart[] {
  const parts: MapPart[] = [];
  const addText = (field: 'groupIdentifier' | 'name' | 'productUrl', column: Column | undefined) => {
    if (column === undefined) return;
    parts.push(mapText(field, compile(column, field), field === 'name' && isNameNeeded));
  };
  addText('groupIdentifier', groupIdentifier);
  addText('name', name);
  addText('productUrl', productUrl);
  if (images !== undefined) parts.push(mapImages(listOf(images).map((spec) => compileImage(spec, compile))));
  if (categories !== undefined)
    parts.push(mapCategories(listOf(categories).map((spec) => compilePath(spec, compile))));
  return parts;
}

/** The key `*` with the value `*` stands for the rest; with a column as its value it is a key like any other. */
function readAttributes({ attributes = {} }: Mapping): {
  named: [string, AttributeSpec[]][];
  takesRest: boolean;
} {
  if (typeof attributes === 'string') return { named: [], takesRest: true };
  const all = Object.entries(attributes);
  const named = all.filter(([key, spec]) => key !== '*' || spec !== '*');
  return { named: named.map(([key, spec]) => [key, listOf(spec)]), takesRest: named.length < all.length };
}

const listOf = <Item>(value: Item | Item[]): Item[] => (Array.isArray(value) ? value : [value]);

const compilePath = ({ from, separator }: PathSpec, compile: Compile): PathSource => ({
  column: compile(from, 'categories'),
  separator,
});

function compileImage(spec: ImageSpec, compile: Compile) {
  if (typeof spec === 'string') return { column: compile(spec, 'images'), type: undefined };
  const { type, ...column } = spec;
  return { column: compile(column, 'images'), type };
}

/** Source of the length: docs/interface.md §2.3. */
const KEY_LENGTH = 255;

function compileValues(key: string, spec: AttributeSpec, compile: Compile): ValueSource {
  const field = `attributes.${key}`;
  const groups = typeof spec === 'string' ? [] : (spec.userGroups ?? []);
  const reason = [key, ...groups].map((text) => findTextProblem(text, KEY_LENGTH)).find(Boolean);
  if (reason !== undefined) throw new MappingProblem(`${field}: a key or user group ${reason}`);
  if (typeof spec === 'string') return { column: compile(spec, field), userGroups: undefined };
  const { userGroups, ...column } = spec;
  return { column: compile(column, field), userGroups };
}
