/**
 * Writes `src/wire.ts` from docs/openapi.json: the types that are sent and received, and the method and path of each
 * operation. Writes `src/choices.ts`: the kinds and options that a form offers. Lists the types in `src/client.ts`.
 * `node client/make-wire.ts --check` checks that all three match the document.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Choice, ChoiceOption, FeedFormat } from './src/choice.ts';

interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly if?: Schema;
  readonly then?: Schema;
  readonly else?: Schema;
  readonly maxItems?: number;
  readonly examples?: readonly unknown[];
  /** The name that people see. A schema without it is in no form. */
  readonly 'x-label'?: string;
  /** Write-only, and how it is entered. */
  readonly 'x-secret'?: 'line' | 'text';
  readonly 'x-mapping'?: 'needed' | 'own' | 'none';
  readonly 'x-endings'?: readonly string[];
  /** The formats that channels write. */
  readonly 'x-formats'?: readonly FeedFormat[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const DOCUMENT = new URL('../docs/openapi.json', import.meta.url);
const WIRE = new URL('src/wire.ts', import.meta.url);
const CHOICES = new URL('src/choices.ts', import.meta.url);
const DOOR = new URL('src/client.ts', import.meta.url);
/**
 * These schemas contain themselves, which the document states only in words, so `src/filter.ts` has them written by
 * hand.
 */
const BY_HAND = new Set(['Filter', 'RowFilter']);

const named = new Map<string, string>();

function nameOf(title: string): string {
  const words = title.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** A titled schema becomes an exported type, which is used by its name everywhere. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref.replace('#/components/schemas/', ''));
  if (schema.title === undefined) return bareTypeOf(schema);
  const name = nameOf(schema.title);
  if (BY_HAND.has(name)) return name;
  const text = bareTypeOf(schema);
  const known = named.get(name);
  if (known !== undefined && known !== text) throw new Error(`two schemas are titled ${schema.title}`);
  named.set(name, text);
  return name;
}

function bareTypeOf(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const members = schema.oneOf ?? schema.anyOf;
  if (members !== undefined) return [...new Set(members.map(typeOf))].join(' | ');
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return schema.properties ? objectOf(schema) : 'unknown';
  return types.map((type) => simpleTypeOf(type, { ...schema, ...branchOf(type, schema) })).join(' | ');
}

/** @returns what a schema requires of values of this type, if its `if` names the type */
const branchOf = (type: string, schema: Schema) => (schema.if?.type === type ? schema.then : schema.else);

function simpleTypeOf(type: string, schema: Schema): string {
  if (type === 'integer') return 'number';
  if (type === 'array') return arrayOf(schema);
  if (type === 'object') return objectOf(schema);
  return type;
}

function arrayOf({ items, maxItems }: Schema): string {
  if (maxItems === 0) return '[]';
  return items ? `Array<${typeOf(items)}>` : 'unknown[]';
}

function objectOf({ properties, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties ?? {}).map(([name, schema]) => {
    const about = schema.description ? `/** ${schema.description.replaceAll('*/', '* /')} */\n` : '';
    return `${about}${quote(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`;
  });
  if (members.length > 0) return `{\n${members.join('\n')}\n}`;
  const rest = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return `Record<string, ${rest}>`;
}

const quote = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** @returns a member with the parameters of one kind, optional if all of them are, or undefined without parameters */
function parametersOf({ parameters = [] }: Operation, place: string): string[] {
  const placed = parameters.filter((parameter) => parameter.in === place);
  const members = placed.map(
    ({ name, required, schema }) => `${quote(name)}${required ? '' : '?'}: ${typeOf(schema)};`,
  );
  const mark = placed.some(({ required }) => required) ? '' : '?';
  return members.length > 0 ? [`${place}${mark}: { ${members.join(' ')} };`] : [];
}

/** The schema of a JSON body, or `text` for any other body. */
function bodyOf(content: Content | undefined): string | undefined {
  const [media, body] = Object.entries(content?.content ?? {})[0] ?? [];
  if (media === undefined) return undefined;
  return media === 'application/json' ? typeOf(body?.schema ?? {}) : 'string';
}

function describeOperation(operation: Operation): string {
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
  const body = bodyOf(operation.requestBody);
  const mark = operation.requestBody?.required === false ? '?' : '';
  const members = [
    ...parametersOf(operation, 'path'),
    ...parametersOf(operation, 'query'),
    ...(body === undefined ? [] : [`body${mark}: ${body};`]),
    `answer: ${bodyOf(answer) ?? 'unknown'};`,
  ];
  const about = operation.summary ? `/** ${operation.summary} */\n` : '';
  const text = members.join('\n');
  return `${about}${operation.operationId}: {\n${text}\n};`;
}

function write(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const components = Object.entries(document.components.schemas)
    .filter(([name]) => !BY_HAND.has(name))
    .map(([name, schema]) => [nameOf(name), bareTypeOf(schema)] as const);
  for (const [name, text] of components) named.set(name, text);
  const described = operations.map(({ operation }) => describeOperation(operation));
  const table = operations.map(
    ({ path, method, operation }) => `${operation.operationId}: ['${method.toUpperCase()}', '${path}'],`,
  );
  return [
    '/** Written by `npm run wire` from docs/openapi.json. Not to be changed by hand. */',
    `import type { ${[...BY_HAND].join(', ')} } from './filter.ts';`,
    '',
    ...[...named].map(([name, text]) => `export type ${name} = ${text};\n`),
    `export interface Operations {\n${described.join('\n')}\n}`,
    '',
    `export const operations = {\n${table.join('\n')}\n} as const satisfies Record<keyof Operations, readonly [string, string]>;`,
    '',
  ].join('\n');
}

/** Two spaces per level, so that people can read the file. */
function indent(text: string): string {
  let depth = 0;
  const lines = text.split('\n').map((line) => {
    const isComment = line.startsWith('/**');
    const opens = !isComment && /[{<]$/.test(line) ? 1 : 0;
    const closes = !isComment && /^[}>]/.test(line) ? 1 : 0;
    depth -= closes;
    const indented = line === '' ? '' : '  '.repeat(depth) + line;
    depth += opens;
    return indented;
  });
  return lines.join('\n');
}

/** @returns a schema whose members have names for people, as choices, or undefined for any other schema */
function choicesOf({ oneOf = [] }: Schema, { components }: Document): Choice[] | undefined {
  const kinds = oneOf.map(({ $ref, ...kind }) =>
    $ref === undefined ? kind : { ...components.schemas[$ref.replace('#/components/schemas/', '')], ...kind },
  );
  const choices = kinds.flatMap((kind) => choiceOf(kind) ?? []);
  return choices.length > 0 ? choices : undefined;
}

function choiceOf(kind: Schema): Choice | undefined {
  const { 'x-label': label, 'x-mapping': mapping, 'x-endings': endings, description = '' } = kind;
  if (label === undefined) return undefined;
  const options = Object.entries(kind.properties ?? {}).flatMap(([name, schema]) =>
    schema['x-label'] === undefined ? [] : [optionOf(name, schema, kind)],
  );
  const type = String(kind.properties?.type?.const);
  return { type, label, description, ...(mapping && { mapping }), ...(endings && { endings }), options };
}

function optionOf(name: string, schema: Schema, { required = [] }: Schema): ChoiceOption {
  const { 'x-label': label = name, 'x-secret': secret, description = '', examples = [] } = schema;
  return {
    name,
    label,
    description,
    isRequired: required.includes(name),
    isNumber: schema.type === 'integer' || schema.type === 'number',
    ...(secret && { secret }),
    values: (schema.enum ?? examples).map(String),
  };
}

function writeChoices(document: Document): string {
  const named = Object.entries(document.components.schemas).flatMap(([name, schema]) => {
    const choices = choicesOf(schema, document);
    return choices === undefined ? [] : [{ name, choices }];
  });
  const lines = named.flatMap(({ name, choices }) => [
    `  ${nameOf(name)}: [`,
    ...choices.map((choice) => `    ${JSON.stringify(choice)},`),
    '  ],',
  ]);
  const names = named.map(({ name }) => nameOf(name));
  const feeds = document.components.schemas.ChannelFormat?.['x-formats'] ?? [];
  return [
    '/** Written by `npm run wire` from docs/openapi.json. Not to be changed by hand. */',
    "import type { Choice, FeedFormat } from './choice.ts';",
    `import type { ${names.join(', ')} } from './wire.ts';`,
    '',
    'export const choices: {',
    ...names.map((name) => `  readonly ${name}: readonly Choice<${name}['type']>[];`),
    '} = {',
    ...lines,
    '};',
    '',
    'export const feedFormats: readonly FeedFormat[] = [',
    ...feeds.map((feed) => `  ${JSON.stringify(feed)},`),
    '];',
    '',
  ].join('\n');
}

/** The formatter lists names in this order: by letter, and for one letter the capital first. */
const rankOf = (name: string) => [...name].map((letter) => letter.toLowerCase() + letter).join('');

/** @returns the entry point of the client, which exports each wire type that no other file exports */
function listTypes(door: string, wire: string): string {
  const list = /^export type \{[^}]*\} from '.\/wire\.ts';$/m;
  const others = new Set(door.replace(list, '').match(/\w+/g));
  const names = [...wire.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name = '']) => name);
  const lines = names
    .filter((name) => !others.has(name))
    .sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
    .map((name) => `  ${name},\n`);
  return door.replace(list, `export type {\n${lines.join('')}} from './wire.ts';`);
}

const document = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Document;
const wire = indent(write(document));
for (const [file, text] of [
  [WIRE, wire],
  [CHOICES, writeChoices(document)],
  [DOOR, listTypes(readFileSync(DOOR, 'utf8'), wire)],
] as const) {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${file.pathname} does not match docs/openapi.json: run npm run wire\n`);
    process.exitCode = 1;
  }
}
