import { STATUS_CODES } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Html, html, trustedMarkup } from './html.ts';
import type { ApiContent, ApiOperation, ApiParameter, OpenApiDocument } from './openapi-document.ts';
import { type Components, renderFields, renderLimits, renderText, renderType } from './reference-schema.ts';
import { REFERENCE_STYLE } from './reference-style.ts';

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

/**
 * The document as one page: no script, nothing fetched from elsewhere, every text of the document escaped. That is 0.1 to 0.5 s of
 * work for the whole interface: other requests come in between.
 */
export async function renderReferencePage(document: OpenApiDocument): Promise<string> {
  const chapters = listChapters(document);
  const components = document.components?.schemas ?? {};
  const { title, version, description } = document.info;
  const rendered: Html[] = [];
  for (const chapter of chapters) rendered.push(await renderChapter(chapter, components));
  const schemas = await renderComponents(components);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} ${version} API</title>
<style>${trustedMarkup(REFERENCE_STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
${renderContents(chapters, Object.keys(components))}
<main id="content">
<header><h1>${title} <small>${version}</small></h1>
${renderText(description)}
<p><a href="./">All documentation</a>. For programs: <a href="../openapi.json">openapi.json</a></p>
${renderCredentials(document)}</header>
${rendered}
${schemas}
</main>
</body>
</html>
`.markup;
}

/** Chapters in the order of the document's tags, then tags that it does not list. */
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
  return html`<nav aria-label="Contents">
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

async function renderInTurns<Item>(items: readonly Item[], render: (item: Item) => Html): Promise<Html[]> {
  const rendered: Html[] = [];
  for (const item of items) {
    rendered.push(render(item));
    await nextTurn();
  }
  return rendered;
}

async function renderChapter({ name, description, entries }: Chapter, components: Components): Promise<Html> {
  return html`<section id="tag-${anchor(name)}"><h2>${name}</h2>${renderText(description)}
${await renderInTurns(entries, (entry) => renderEntry(entry, components))}</section>
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

/** The management endpoints take the key in the header alone, which shows in their one way of security. */
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

async function renderComponents(components: Components): Promise<Html | undefined> {
  const entries = Object.entries(components);
  if (entries.length === 0) return undefined;
  return html`<section id="schemas"><h2>Schemas</h2>
${await renderInTurns(
  entries,
  ([name, schema]) => html`<article id="schema-${name}"><h3>${name}</h3>${renderText(schema.description)}
<p class="type">${renderType(schema)} ${renderLimits(schema)}</p>${renderFields(schema, components, [name])}</article>
`,
)}</section>`;
}

/** The name of a place in the page: neither a space nor a sign that a URL would change. */
function anchor(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, '-');
}
