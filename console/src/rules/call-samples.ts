import { operations } from '@relata/client';
import { toCurl } from './curl.ts';
import type { PageCall } from './page-calls.ts';

export const SAMPLES = { curl: writeCurl, TypeScript: writeTypeScript, PHP: writePhp } as const;

export type SampleLanguage = keyof typeof SAMPLES;

function fillPath({ operation, path = {} }: PageCall): { method: string; path: string } {
  const [method, template] = operations[operation];
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
  return { method, path: filled };
}

const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function writeCurl(call: PageCall): string {
  const { method, path } = fillPath(call);
  const query = new URLSearchParams(
    Object.entries(call.query ?? {}).map(([name, value]) => [name, toText(value)]),
  );
  return toCurl({
    ...{ method, url: query.size > 0 ? `${path}?${query}` : path },
    headers: call.isStream ? ['Accept: application/x-ndjson'] : [],
    ...(call.body !== undefined && { body: JSON.stringify(call.body, null, 2) }),
  });
}

/** How a language writes a value. */
interface Notation {
  readonly list: readonly [open: string, close: string];
  readonly object: readonly [open: string, close: string];
  readonly empty: string;
  text(value: string): string;
  member(name: string, value: string): string;
}

/** As wide as the dialog shows without breaking a line. */
const WIDTH = 66;

function write(value: unknown, notation: Notation, indent = ''): string {
  if (typeof value === 'string') return notation.text(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((one) => write(one, notation, deeper))
    : Object.entries(value).map(([name, one]) => notation.member(name, write(one, notation, deeper)));
  if (parts.length === 0) return Array.isArray(value) ? '[]' : notation.empty;
  const [open, close] = Array.isArray(value) ? notation.list : notation.object;
  return enclose(parts, [open, close], indent);
}

/** In a line where they are short, else a line each. */
function enclose(parts: readonly string[], [open, close]: readonly [string, string], indent: string): string {
  const line = parts.join(', ');
  if (indent.length + line.length <= WIDTH && !line.includes('\n')) {
    const space = open === '{' ? ' ' : '';
    return `${open}${space}${line}${space}${close}`;
  }
  return `${open}\n${parts.map((part) => `${indent}  ${part},\n`).join('')}${indent}${close}`;
}

/** A single one stands where the bracket is. */
const encloseGiven = (given: readonly string[]) =>
  given.length === 1 ? `(${given[0]})` : enclose(given, ['(', ')'], '');

const quoteName = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteTs(name));
const quoteTs = (text: string) =>
  text.includes("'") || /[\\\n\r\u2028\u2029]/.test(text) ? JSON.stringify(text) : `'${text}'`;

const TYPESCRIPT: Notation = {
  ...{ list: ['[', ']'], object: ['{', '}'], empty: '{}', text: quoteTs },
  member: (name, value) => `${quoteName(name)}: ${value}`,
};

function writeTypeScript({ method, takes, isStream }: PageCall): string {
  const given = encloseGiven(takes.map((one) => write(one, TYPESCRIPT, takes.length > 1 ? '  ' : '')));
  const asked = `relata.${method}${given}`;
  const use = isStream
    ? `for await (const line of ${asked}) {\n  console.log(line);\n}`
    : `const answer = await ${asked};\nconsole.log(answer);`;
  return `import { createRelata } from '@relata/client';

const relata = createRelata({
  url: process.env.RELATA_URL,
  key: process.env.RELATA_API_KEY,
});

${use}`;
}

const quotePhp = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;

const PHP: Notation = {
  // An empty array would be sent as a list.
  ...{ list: ['[', ']'], object: ['[', ']'], empty: '(object) []', text: quotePhp },
  member: (name, value) => `${quotePhp(name)} => ${value}`,
};

function writePhp(call: PageCall): string {
  return `<?php

require 'vendor/autoload.php';

use GuzzleHttp\\Client;
use GuzzleHttp\\Psr7\\HttpFactory;
use Relata\\Relata;

$factory = new HttpFactory();
$http = new Client();
$relata = new Relata(getenv('RELATA_URL'), getenv('RELATA_API_KEY'), $http, $factory, $factory);

$answer = ${writePhpCall(call)};
echo json_encode($answer, JSON_PRETTY_PRINT);`;
}

function writePhpCall(call: PageCall): string {
  const { php, query = {}, body } = call;
  if (php !== undefined) {
    const named = Object.entries(php.takes).map(([name, value]) => `${name}: ${write(value, PHP, '  ')}`);
    return `$relata->${php.method}${encloseGiven(named)}`;
  }
  const { method, path } = fillPath(call);
  const hasQuery = Object.keys(query).length > 0;
  const given = [
    ...[quotePhp(method), quotePhp(path)],
    ...(hasQuery || body !== undefined ? [hasQuery ? write(query, PHP, '  ') : '[]'] : []),
    ...(body === undefined ? [] : [write(body, PHP, '  ')]),
  ];
  return `$relata->call${encloseGiven(given)}`;
}
