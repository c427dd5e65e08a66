import { type CompiledColumn, MappingProblem } from './mapping-columns.ts';
import {
  type Compile,
  checkAttributes,
  findTextProblem,
  KEY_LENGTH,
  type MapPart,
  mapAttribute,
  mapCategories,
  mapImages,
  mapKeyValues,
  mapRest,
  mapText,
  refuseLinks,
  type ValueSource,
} from './mapping-parts.ts';
import type { AttributeSpec, ImageSpec, Mapping, PathSpec, PipelineMode } from './mapping-schemas.ts';

export interface ProductPlan {
  readonly identifier: CompiledColumn;
  /** The part of the mapping that has the identifier. */
  readonly identifiedBy: 'identifier' | 'source';
  readonly parts: readonly MapPart[];
  /** Whether all columns become attributes, except columns that are read by name or ignored. */
  readonly takesRest: boolean;
}

/** @throws MappingProblem */
export function planProduct(
  mapping: Mapping,
  mode: Exclude<PipelineMode, 'links' | 'table'>,
  { compile, isUsed }: { readonly compile: Compile; isUsed(column: string): boolean },
): ProductPlan {
  refuseLinks(mapping, mode);
  if (mapping.identifier === undefined) throw new MappingProblem(`identifier is needed in mode ${mode}`);
  const identifier = compile(mapping.identifier, 'identifier');
  const identifiedBy = 'identifier';
  if (mode === 'delete') return { identifier, identifiedBy, parts: [], takesRest: false };
  const isNameNeeded = mode !== 'partial';
  if (isNameNeeded && mapping.name === undefined) throw new MappingProblem(`name is needed in mode ${mode}`);
  const { named, takesRest } = readAttributes(mapping);
  const removesEmpty = mode === 'partial' && mapping.emptyCells === 'remove';
  const planValues = ([key, spec]: (typeof named)[number]) => {
    const sources = [spec].flat().map((source) => compileValues(key, source, compile));
    return mapAttribute(key, sources, removesEmpty);
  };
  const parts = [
    ...planFields(mapping, { compile, isNameNeeded }),
    ...named.map(planValues),
    ...planKeyValues(mapping, compile, removesEmpty),
    ...(takesRest ? [mapRest(isUsed, removesEmpty)] : []),
    ...(mapping.attributes === undefined ? [] : [checkAttributes]),
  ];
  return { identifier, identifiedBy, parts, takesRest };
}

function planKeyValues({ keyValues = [] }: Mapping, compile: Compile, removesEmpty: boolean): MapPart[] {
  const parts = keyValues.map((spec) => {
    const { column, optional = false } = spec;
    return mapKeyValues(compile({ column, optional }, 'keyValues'), spec, removesEmpty);
  });
  return parts.length === 0 ? [] : [...parts, checkAttributes];
}

function planFields(
  mapping: Mapping,
  { compile, isNameNeeded }: { compile: Compile; isNameNeeded: boolean },
): MapPart[] {
  const { images, categories } = mapping;
  const parts: MapPart[] = [];
  for (const field of ['groupIdentifier', 'name', 'productUrl'] as const) {
    const column = mapping[field];
    const isNeeded = field === 'name' && isNameNeeded;
    if (column !== undefined) parts.push(mapText(field, compile(column, field), isNeeded));
  }
  if (images !== undefined) parts.push(mapImages([images].flat().map((spec) => compileImage(spec, compile))));
  if (categories !== undefined) {
    const toPath = ({ from, separator }: PathSpec) => ({ column: compile(from, 'categories'), separator });
    parts.push(mapCategories([categories].flat().map(toPath)));
  }
  return parts;
}

/** The key `*` with the value `*` means all other columns. With a column as its value, `*` is an ordinary key. */
function readAttributes({ attributes = {} }: Mapping) {
  const all = Object.entries(typeof attributes === 'string' ? { '*': attributes } : attributes);
  const named = all.filter(([key, spec]) => key !== '*' || spec !== '*');
  return { named, takesRest: named.length < all.length };
}

function compileImage(spec: ImageSpec, compile: Compile) {
  if (typeof spec === 'string') return { column: compile(spec, 'images'), type: undefined };
  const { type, ...column } = spec;
  return { column: compile(column, 'images'), type };
}

function compileValues(key: string, spec: AttributeSpec, compile: Compile): ValueSource {
  const field = `attributes.${key}`;
  const groups = typeof spec === 'string' ? [] : (spec.userGroups ?? []);
  const reason = [key, ...groups].map((text) => findTextProblem(text, KEY_LENGTH)).find(Boolean);
  if (reason !== undefined) throw new MappingProblem(`${field}: a key or user group ${reason}`);
  if (typeof spec === 'string') return { column: compile(spec, field), userGroups: undefined };
  const { userGroups, ...column } = spec;
  return { column: compile(column, field), userGroups };
}
