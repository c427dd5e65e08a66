import { type AttributeValue, computeValueId, type UploadedProduct } from '../products/products.ts';
import { type Attribute, isFact } from './attribute.ts';

/** An attribute and a value that the ontology reads from a product. Source: docs/interface.md §11.4. */
export interface Fact {
  readonly attribute: Attribute;
  readonly value: string;
  readonly userGroups?: readonly string[] | undefined;
}

/** @returns the facts of raw attributes by `indexByKey`; equal strings of one attribute are one, for all their groups */
export function listFacts(
  values: readonly AttributeValue[],
  byKey: ReadonlyMap<string, Attribute>,
): readonly Fact[] {
  const facts = new Map<string, Fact>();
  for (const { key, value, userGroups } of values) {
    const attribute = byKey.get(key);
    if (attribute === undefined || !isFact(value, attribute)) continue;
    const id = `${attribute.id} ${value}`;
    const first = facts.get(id);
    facts.set(id, {
      attribute,
      value,
      userGroups: first === undefined ? userGroups : joinGroups(first.userGroups, userGroups),
    });
  }
  return [...facts.values()];
}

/** A value without groups is for everybody, whoever else has it. */
const joinGroups = (a: Fact['userGroups'], b: Fact['userGroups']): Fact['userGroups'] =>
  a === undefined || b === undefined ? undefined : [...new Set([...a, ...b])];

/** @returns facts as answers have them, JSON with commas between */
export const describeFacts = (facts: readonly Fact[]): string =>
  facts
    .map(({ attribute: { id, name, type }, value, userGroups }) =>
      JSON.stringify({
        ...{ attributeId: id, attribute: name, valueId: computeValueId(id, value), value, type },
        ...(userGroups && { userGroups }),
      }),
    )
    .join(',');

/** @returns categories as answers have them; `idOf` gives the id of a path, as JSON, for which none was uploaded */
export const describeCategories = (
  categories: UploadedProduct['categories'],
  idOf: (path: string) => number,
): string =>
  categories
    .map(({ path, categoryId }) => {
      const text = JSON.stringify(path);
      return `{"path":${text},"categoryId":${categoryId ?? idOf(text)}}`;
    })
    .join(',');
