/**
 * `site/dist/api.html`: docs/openapi.json as one page, without scripts, without requests to other origins, and with
 * every text of the document escaped. It needs neither Eleventy nor another package, so a clone in which `npm run docs`
 * has not run also has the page.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { join } from 'node:path';
import type {
  ApiContent,
  ApiOperation,
  ApiParameter,
  ApiSchema,
  OpenApiDocument,
} from '../server/openapi/document.ts';

const HERE = import.meta.dirname;
const DOCUMENT = '../docs/openapi.json';
/** The style is in the page, because the policy of the page allows only this style. */
const STYLES = ['styles/1-shell.css', 'styles/3-text.css', 'api-page.css'];
const NAME = 'api.html';

const readText = (path: string) => readFileSync(join(HERE, path), 'utf8');
const writtenAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Writes the page into a folder in one step, because a service may read it at the same time. */
export function writeApiPage(folder: string): void {
  const path = join(folder, NAME);
  const part = `${path}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(part, renderApiPage(JSON.parse(readText(DOCUMENT)), STYLES.map(readText).join('\n')));
  // The packed files of `npm run docs` belong to the previous page.
  for (const suffix of ['.br', '.gz']) rmSync(path + suffix, { force: true });
  renameSync(part, path);
}

/** Writes the page if it is missing or older than its sources. Run by `npm start`, `npm run dev` and tests. */
export function refreshApiPage(folder = join(HERE, 'dist')): void {
  const madeAt = writtenAt(join(folder, NAME));
  const sources = [DOCUMENT, ...STYLES].map((path) => join(HERE, path)).concat(import.meta.filename);
  if (sources.some((path) => writtenAt(path) >= madeAt)) writeApiPage(folder);
}

interface Entry {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

interface Chapter {
  readonly name: string;
  readonly description: string | undefined;
  readonly entries: readonly Entry[];
}

/** @returns the page with its style */
export function renderApiPage(document: OpenApiDocument, style: string): string {
  const chapters = listChapters(document);
  const components = document.components?.schemas ?? {};
  const { title, version, description } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} ${version} API</title>
<style>${trustedMarkup(style)}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header><a class="brand" href="./">${title}</a><a href="./">All documentation</a><a href="../openapi.json">openapi.json</a></header>
<div class="columns">
${renderContents(chapters, Object.keys(components))}
<main id="content">
<h1>API <small>${version}</small></h1>
${renderText(description)}
${renderCredentials(document)}
${chapters.map((chapter) => renderChapter(chapter, components))}
${renderComponents(components)}
</main>
</div>
</body>
</html>
`.markup;
}

/** Chapters in the order of the document's tags, then further tags. */
function listChapters(document: OpenApiDocument): Chapter[] {
  const byTag = new Map<string, Entry[]>((document.tags ?? []).map(({ name }) => [name, []]));
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? 'Other';
      const id = operation.operationId ?? `${method}${path}`;
      const entries = byTag.get(tag) ?? [];
      byTag.set(tag, [...entries, { id, method: method.toUpperCase(), path, operation }]);
    }
  }
  const descriptions = new Map((document.tags ?? []).map((tag) => [tag.name, tag.description]));
  return [...byTag]
    .filter(([, entries]) => entries.length > 0)
    .map(([name, entries]) => ({ name, description: descriptions.get(name), entries }));
}

function renderContents(chapters: readonly Chapter[], schemas: readonly string[]): Html {
  return html`<nav class="side" aria-label="Contents">
${chapters.map(
  ({ name, entries }) => html`<h2><a href="#tag-${anchor(name)}">${name}</a></h2>
<ul>${entries.map(
    ({ id, method, path, operation }) => html`<li><a href="#${anchor(id)}">${renderMethod(method)}
<span>${operation.summary ?? path}</span></a></li>`,
  )}</ul>`,
)}
${schemas.length > 0 && html`<h2><a href="#schemas">Schemas</a></h2>`}
</nav>`;
}

function renderCredentials(document: OpenApiDocument): Html | undefined {
  const schemes = Object.values(document.components?.securitySchemes ?? {});
  if (schemes.length === 0) return undefined;
  return html`<h2>Credentials</h2>${schemes.map(({ description }) => renderText(description))}`;
}

function renderChapter({ name, description, entries }: Chapter, components: Components): Html {
  return html`<section id="tag-${anchor(name)}"><h2>${name}</h2>${renderText(description)}
${entries.map((entry) => renderEntry(entry, components))}</section>
`;
}

function renderEntry({ id, method, path, operation }: Entry, components: Components): Html {
  const { summary, description, deprecated, parameters = [], requestBody } = operation;
  return html`<article id="${anchor(id)}">
<h3>${summary ?? path} <a class="here" href="#${anchor(id)}" aria-label="Link to ${summary ?? path}">#</a></h3>
<p class="call">${renderMethod(method)} <code>${path}</code>
${deprecated === true && html`<span class="deprecated">deprecated</span>`}</p>
${renderText(description)}
<p class="key">${describeKey(operation)}</p>
${parameters.length > 0 && renderParameters(parameters)}
${requestBody && html`<h4>Body</h4>${renderContent(requestBody.content, components)}`}
${renderResponses(operation, components)}
</article>
`;
}

function renderMethod(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** The management endpoints accept the key only in the header. They are recognised by their single security scheme. */
function describeKey(operation: ApiOperation): string {
  const ways = operation.security ?? [];
  if (ways.length === 0) return 'Needs no key.';
  const access = operation['x-access'] ?? 'read';
  return `Needs a key with access ${access}${ways.length === 1 ? ', in the Authorization header.' : '.'}`;
}

function renderParameters(parameters: readonly ApiParameter[]): Html {
  return html`<h4>Parameters</h4>
<div class="wide" tabindex="0" role="region" aria-label="Parameters"><table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th>
</tr></thead><tbody>${parameters.map(
    ({ name, in: place, required, description, schema = {} }) => html`<tr><th scope="row"><code>${name}</code>
<small>${place}${required === true && html`, <span class="required">required</span>`}</small></th>
<td>${renderType(schema)} ${renderLimits(schema)}</td><td>${renderText(description)}</td></tr>`,
  )}</tbody></table></div>`;
}

function renderResponses({ responses }: ApiOperation, components: Components): Html {
  const entries = Object.entries(responses);
  const answers = entries.filter(([status]) => /^[23]/.test(status));
  const refusals = entries.filter(([status]) => !/^[23]/.test(status));
  return html`${answers.map(
    ([status, { description, content }]) => html`<h4>Answer ${status}</h4>
${description !== STATUS_CODES[status] && renderText(description)}${content && renderContent(content, components)}`,
  )}
${
  refusals.length > 0 &&
  html`<h4>Errors</h4><ul class="errors">${refusals.map(
    ([status, { description }]) => html`<li><code>${status}</code> ${renderText(description)}</li>`,
  )}</ul>`
}`;
}

function renderContent(content: ApiContent, components: Components): Html {
  return html`${Object.entries(content).map(
    ([mediaType, { schema = {} }]) => html`<p class="type"><code>${mediaType}</code> ${renderType(schema)}
${renderLimits(schema)}</p>${renderFields(schema, components)}`,
  )}`;
}

function renderComponents(components: Components): Html | undefined {
  const entries = Object.entries(components);
  if (entries.length === 0) return undefined;
  // Links are sufficient for schemas that another schema uses, but this list has them as well.
  return html`<section id="schemas"><h2>Schemas</h2>
${entries.map(
  ([name, schema]) => html`<article id="schema-${name}"><h3>${name}</h3>${renderText(schema.description)}
<p class="type">${renderType(schema)} ${renderLimits(schema)}</p>${renderFields(schema, components, ['', name])}</article>
`,
)}</section>`;
}

/** The name of a place in the page, without spaces and without characters that a URL would change. */
function anchor(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, '-');
}

type Components = NonNullable<NonNullable<OpenApiDocument['components']>['schemas']>;

interface Field {
  readonly name: string;
  readonly schema: ApiSchema;
  readonly isRequired?: boolean;
}

const REFERENCE = '#/components/schemas/';
/** The pattern of a TypeBox record. */
const ANY_NAME = '^.*$';

/** Text with paragraphs by empty lines and `code` in backticks. */
function renderText(text: string | undefined): Html | undefined {
  if (text === undefined || text === '') return undefined;
  const inline = (paragraph: string) =>
    paragraph.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
  return html`${text.split(/\n\s*\n/).map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`;
}

/** Describes a value in words: "list of Product", "one of FINISHED, FAILED". Names of schemas are links. */
function renderType(schema: ApiSchema): Html {
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
function renderLimits(schema: ApiSchema): Html | undefined {
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
function renderFields(
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

/** A schema at a deeper level, or inside itself, is only a link. Otherwise the page would be twice as long. */
function renderReferred(name: string, components: Components, open: readonly string[]): Html | undefined {
  const schema = components[name];
  if (schema === undefined || open.includes(name) || open.length > 1) return undefined;
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

/** @returns the schema of the values of an object with free names, or undefined for any other value */
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

/** Markup that is safe to send: it was written here, and all other text in it was escaped. */
interface Html {
  readonly markup: string;
}

type HtmlContent = Html | string | number | undefined | false | readonly HtmlContent[];

/** Builds markup. Every value that is not markup is escaped, and undefined and false are omitted. */
function html(parts: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  return { markup: parts.map((part, at) => part + toMarkup(values[at])).join('') };
}

/** Uses text as markup without escaping. Only for constants of the source. */
function trustedMarkup(markup: string): Html {
  return { markup };
}

function toMarkup(value: HtmlContent): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeText(String(value));
  if ('markup' in value) return value.markup;
  return value.map(toMarkup).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

if (import.meta.main) refreshApiPage();
