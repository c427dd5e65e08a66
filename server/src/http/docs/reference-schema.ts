import { type Html, html } from './html.ts';
import type { ApiSchema, OpenApiDocument } from './openapi-document.ts';

export type Components = NonNullable<NonNullable<OpenApiDocument['components']>['schemas']>;

interface Field {
  readonly name: string;
  readonly schema: ApiSchema;
  readonly isRequired?: boolean;
}

const REFERENCE = '#/components/schemas/';
/** The pattern of a TypeBox record. */
const ANY_NAME = '^.*$';

/** Text with paragraphs by empty lines and `code` in backticks. */
export function renderText(text: string | undefined): Html | undefined {
  if (text === undefined || text === '') return undefined;
  const inline = (paragraph: string) =>
    paragraph.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
  return html`${text.split(/\n\s*\n/).map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`;
}

/** What a value is, in words: "list of Product", "one of FINISHED, FAILED". Names of schemas are links. */
export function renderType(schema: ApiSchema): Html {
  if (schema.$ref !== undefined) {
    const name = nameOfReference(schema.$ref);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const choices = listChoices(schema);
  if (choices !== undefined) return choices;
  if (schema.items !== undefined) return html`list of ${renderType(schema.items)}`;
  const named = findMapValue(schema);
  if (named !== undefined) return html`object, by name: ${renderType(named)}`;
  const type = schema.type ?? (schema.properties === undefined ? 'any value' : 'object');
  return html`${[type].flat().join(' or ')}`;
}

function listChoices(schema: ApiSchema): Html | undefined {
  if (schema.const !== undefined) return html`always <code>${JSON.stringify(schema.const)}</code>`;
  const variants = schema.anyOf ?? schema.oneOf;
  const constants =
    variants?.every(({ const: value }) => value !== undefined) && variants.map((one) => one.const);
  const values = schema.enum ?? (constants || undefined);
  if (values !== undefined) {
    return html`one of ${values.map((value, at) => html`${at > 0 && ', '}<code>${JSON.stringify(value)}</code>`)}`;
  }
  const either = variants ?? schema.allOf;
  const word = variants === undefined ? ' and ' : ' or ';
  return either && html`${either.map((one, at) => html`${at > 0 && word}${renderType(one)}`)}`;
}

/** Limits, format and default of a value, as a list of words. */
export function renderLimits(schema: ApiSchema): Html | undefined {
  const limits = [
    between(schema.minLength, schema.maxLength, 'characters'),
    between(schema.minItems, schema.maxItems, 'elements'),
    between(schema.minimum, schema.maximum, ''),
    schema.format && `format ${schema.format}`,
    schema.pattern && `pattern ${schema.pattern}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter((limit) => typeof limit === 'string' && limit !== '');
  return limits.length === 0 ? undefined : html`<span class="limits">${limits.join(' · ')}</span>`;
}

function between(low: number | undefined, high: number | undefined, unit: string): string | undefined {
  const [from, to] = [low?.toLocaleString('en'), high?.toLocaleString('en')];
  if (from === undefined && to === undefined) return undefined;
  if (to === undefined) return `at least ${from} ${unit}`.trim();
  if (from === undefined) return `at most ${to} ${unit}`.trim();
  return (from === to ? `exactly ${to} ${unit}` : `${from} to ${to} ${unit}`).trim();
}

/**
 * The fields of a schema as nested lists. Named schemas are folded.
 * @returns undefined for a value without fields
 */
export function renderFields(
  schema: ApiSchema,
  components: Components,
  open: readonly string[] = [],
): Html | undefined {
  const { $ref } = schema;
  if ($ref !== undefined) return renderReferred(nameOfReference($ref), components, open);
  const fields = listFields(schema);
  if (fields.length > 0) {
    return html`<ul class="fields">${fields.map((field) => renderField(field, components, open))}</ul>`;
  }
  const inner = schema.items ?? findMapValue(schema);
  if (inner !== undefined) return renderFields(inner, components, open);
  const variants = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  const shown = variants.map((variant) => ({ variant, fields: renderFields(variant, components, open) }));
  if (shown.every((one) => one.fields === undefined)) return undefined;
  return html`<ul class="fields">${shown.map(
    (one) =>
      html`<li><span class="type">${one.variant.title ?? renderType(one.variant)}</span>${one.fields}</li>`,
  )}</ul>`;
}

/** A schema inside itself is a link only. */
function renderReferred(name: string, components: Components, open: readonly string[]): Html | undefined {
  const schema = components[name];
  if (schema === undefined || open.includes(name)) return undefined;
  const fields = renderFields(schema, components, [...open, name]);
  if (fields === undefined || open.length === 0) return fields;
  return html`<details><summary>fields of ${name}</summary>${fields}</details>`;
}

function renderField(
  { name, schema, isRequired }: Field,
  components: Components,
  open: readonly string[],
): Html {
  return html`<li><code class="name">${name}</code> <span class="type">${renderType(schema)}</span>
${isRequired === true && html`<span class="required">required</span>`}
${schema.deprecated === true && html`<span class="deprecated">deprecated</span>`}
${renderLimits(schema)} ${schema.items && renderLimits(schema.items)}
${renderText(schema.description)}${renderFields(schema, components, open.length === 0 ? [''] : open)}</li>`;
}

function listFields(schema: ApiSchema): Field[] {
  const required = schema.required ?? [];
  const named = Object.entries(schema.properties ?? {});
  const patterns = Object.entries(schema.patternProperties ?? {}).filter(([pattern]) => pattern !== ANY_NAME);
  return [
    ...named.map(([name, value]) => ({ name, schema: value, isRequired: required.includes(name) })),
    ...patterns.map(([pattern, value]) => ({ name: `/${pattern}/`, schema: value })),
  ];
}

/** @returns the schema of the values of an object whose names are free; undefined for any other value. */
function findMapValue({
  properties,
  additionalProperties,
  patternProperties,
}: ApiSchema): ApiSchema | undefined {
  if (properties !== undefined) return undefined;
  if (typeof additionalProperties === 'object') return additionalProperties;
  return patternProperties?.[ANY_NAME];
}

function nameOfReference(reference: string): string {
  return reference.startsWith(REFERENCE) ? reference.slice(REFERENCE.length) : reference;
}
