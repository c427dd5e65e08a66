import type { Attribute } from '../../catalog/catalog.ts';
import type { ChannelFormat, SuggestedSource } from '../formats/formats.ts';
import type { ChannelMapping, FieldSource, OwnField } from './source.ts';

/** `Ver­füg­barkeit (Lager)` and `verfugbarkeitlager` are one name. */
const plain = (name: string) =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]/gu, '');

/** @returns a source for each field that the products seem to have, for a channel that says nothing itself */
export function suggestMapping(format: ChannelFormat, attributes: readonly Attribute[]): ChannelMapping {
  const byName = indexByPlainName(attributes);
  const mapping: Record<string, FieldSource> = {};
  for (const [field, suggested] of Object.entries(format.suggestions)) {
    const source = suggestSource(field, suggested, byName);
    if (source !== undefined) mapping[field] = source;
  }
  if (!format.suggestsAttributes) return mapping;
  const others = attributes.filter(({ name }) => !Object.hasOwn(mapping, name));
  return { ...mapping, ...Object.fromEntries(others.map(({ name }) => [name, { attribute: name }])) };
}

function suggestSource(
  field: string,
  { field: own, attributes = [] }: SuggestedSource,
  byName: ReadonlyMap<string, string>,
): FieldSource | undefined {
  if (own !== undefined) return { field: own as OwnField };
  const attribute = [plain(field), ...attributes]
    .map((name) => byName.get(name))
    .find((one) => one !== undefined);
  return attribute === undefined ? undefined : { attribute };
}

/** @returns names of attributes; the first one of the ontology goes first */
function indexByPlainName(attributes: readonly Attribute[]): Map<string, string> {
  const byName = new Map<string, string>();
  for (const { name, synonyms = [] } of attributes.toReversed())
    for (const one of [...synonyms, name]) byName.set(plain(one), name);
  return byName;
}
