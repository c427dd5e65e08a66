import { type Static, Type } from 'typebox';
import { closedAs, oneOf } from '../../http/answers/answers.ts';
import type { Sent } from '../../http/server/server.ts';
import { optional } from '../../kernel/optional.ts';

/** Source: docs/interface §11.1. */
const ATTRIBUTES = 20_000;
const UnitName = Type.String({ minLength: 1, maxLength: 64, pattern: '^\\S+$' });

export const AttributeSchema = closedAs('Attribute', {
  id: optional.integer({ minimum: 1 }),
  name: Type.String({ minLength: 1, maxLength: 255 }),
  type: oneOf([
    'TEXT_ATTRIBUTE',
    'NUMERIC_ATTRIBUTE',
    'BOOLEAN_ATTRIBUTE',
    'DATE_ATTRIBUTE',
    'UNTYPED_ATTRIBUTE',
  ]),
  // The unit of every value, such as `in`; absent for numbers without a unit and for other types.
  unitName: Type.Optional(UnitName),
  // The form of numbers; absent: with a decimal point and without groups, as programs write them.
  decimal: Type.Optional(oneOf(['point', 'comma'])),
  // Other upload keys for this attribute.
  synonyms: optional.list(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 100 }),
  reason: optional.text({
    maxLength: 1_000,
    description: 'why a full update gave the attribute its type; set by the service, ignored in a PUT',
  }),
  typing: Type.Optional(
    oneOf(['automatic'], 'resets the type to automatic: the next full update judges the values again'),
  ),
});
/**
 * A requested attribute. It may be renamed, together with all definitions that name it. Source: docs/interface §11.8.
 */
export const SentAttribute = closedAs('SentAttribute', {
  ...AttributeSchema.properties,
  renameTo: optional.text({
    minLength: 1,
    maxLength: 255,
    description: 'the new name; relations, channels and settings that name the attribute change too',
  }),
  keepSynonym: optional.flag('with renameTo: whether the former name remains a synonym; default: true'),
});
export type SentAttribute = Sent<Static<typeof SentAttribute>>;
export const OntologyDocument = closedAs('Ontology', {
  mode: oneOf(['automatic', 'own']),
  unitAliases: Type.Optional(
    Type.Record(Type.String({ minLength: 1, maxLength: 64, pattern: '^\\S{1,64}$' }), UnitName, {
      maxProperties: 200,
      additionalProperties: false,
      description:
        'names of the project for units, each with a spelling of the table of units: {"Daumen":"in"}',
    }),
  ),
  attributes: Type.Array(AttributeSchema, { maxItems: ATTRIBUTES }),
});
export const SentOntology = closedAs('SentOntology', {
  ...OntologyDocument.properties,
  attributes: Type.Array(SentAttribute, { maxItems: ATTRIBUTES }),
});
export type SentOntology = Sent<Static<typeof SentOntology>>;
