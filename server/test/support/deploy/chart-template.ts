import assert from 'node:assert/strict';
import { stringify } from 'yaml';

/**
 * The functions of Go templates and of Helm that the chart uses. Everything else is refused. If Go is installed,
 * render-chart.go renders the same with Go's own engine, and the test compares both.
 */

type Value = unknown;
type Variables = Readonly<Record<string, Value>>;
type Defines = Map<string, Node[]>;

/** Text, an action, or a block with its contents; a block's `otherwise` is its else. */
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly code: string }
  | {
      readonly kind: 'if' | 'with' | 'range' | 'define';
      readonly code: string;
      readonly body: Node[];
      otherwise?: Node[];
    };
type Block = Extract<Node, { body: Node[] }>;

/** A block whose end is not read yet, and the list that receives the following nodes. */
interface Open {
  block: Block;
  readonly into: Node[];
}

interface Scope {
  readonly dot: Value;
  readonly variables: Variables;
  readonly defines: Defines;
}

const ACTION = /(\s*\{\{-|\{\{)\s*([\s\S]*?)\s*(-\}\}\s*|\}\})/g;
const TOKEN = /"(?:[^"\\]|\\.)*"|\||\(|\)|[^\s()|]+/g;

/** @returns the rendered templates of a chart for `data`, by path */
export function renderTemplates(
  templates: Readonly<Record<string, string>>,
  data: object,
): Map<string, string> {
  const defines: Defines = new Map();
  const parsed = Object.entries(templates).map(([path, text]) => [path, parse(text)] as const);
  for (const [, nodes] of parsed) {
    for (const node of nodes) if (node.kind === 'define') defines.set(readLiteral(node.code), node.body);
  }
  const scope = { dot: data, variables: { $: data }, defines };
  return new Map(parsed.map(([path, nodes]) => [path, render(nodes, scope)]));
}

function parse(text: string): Node[] {
  const root: Node[] = [];
  const open: Open[] = [];
  let into = root;
  let position = 0;
  for (const match of text.matchAll(ACTION)) {
    into.push({ kind: 'text', text: text.slice(position, match.index) });
    position = match.index + match[0].length;
    into = readAction(match[2] ?? '', into, open);
  }
  into.push({ kind: 'text', text: text.slice(position) });
  assert.equal(open.length, 0, 'a block without its end');
  return root;
}

/** @returns the list that receives the following nodes */
function readAction(code: string, into: Node[], open: Open[]): Node[] {
  const [word = ''] = code.split(/\s/, 1);
  if (word === 'end') return (open.pop() ?? assert.fail('an end without its block')).into;
  if (word === 'else') return openElse(open.at(-1) ?? assert.fail(code), code);
  if (!['if', 'with', 'range', 'define'].includes(word)) {
    into.push({ kind: 'print', code });
    return into;
  }
  const block = { kind: word, code: code.slice(word.length).trim(), body: [] } as Block;
  into.push(block);
  open.push({ block, into });
  return block.body;
}

/** `else if` is an if within the else, which ends with it. */
function openElse(open: Open, code: string): Node[] {
  const otherwise: Node[] = [];
  open.block.otherwise = otherwise;
  const condition = /^else if (.*)$/s.exec(code)?.[1];
  if (condition === undefined) return otherwise;
  const block: Block = { kind: 'if', code: condition, body: [] };
  otherwise.push(block);
  open.block = block;
  return block.body;
}

const render = (nodes: readonly Node[], scope: Scope): string =>
  nodes.map((node) => renderNode(node, scope)).join('');

function renderNode(node: Node, scope: Scope): string {
  if (node.kind === 'text') return node.text;
  if (node.kind === 'print') return print(evaluate(node.code, scope), node.code);
  if (node.kind === 'define') return '';
  if (node.kind === 'range') return renderRange(node, scope);
  const value = evaluate(node.code, scope);
  if (!isTrue(value)) return render(node.otherwise ?? [], scope);
  return render(node.body, node.kind === 'with' ? { ...scope, dot: value } : scope);
}

/** `range $name := list` or `range $key, $value := map`; keys are sorted, as in Go. */
function renderRange({ code, body }: Block, scope: Scope): string {
  const [, first = '', second, source = ''] =
    /^(\$\w+)(?:, (\$\w+))? := (.*)$/s.exec(code) ?? assert.fail(code);
  const value = evaluate(source, scope);
  const entries = Object.entries((value ?? {}) as object).sort(([a], [b]) =>
    Array.isArray(value) ? 0 : Number(a > b) - Number(a < b),
  );
  return entries
    .map(([key, dot]) => {
      const named = second === undefined ? { [first]: dot } : { [first]: key, [second]: dot };
      return render(body, { ...scope, dot, variables: { ...scope.variables, ...named } });
    })
    .join('');
}

function print(value: Value, code: string): string {
  assert.ok(['string', 'number', 'boolean'].includes(typeof value), `{{ ${code} }} is ${value}`);
  return String(value);
}

function isTrue(value: Value): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function evaluate(code: string, scope: Scope): Value {
  const tokens = code.match(TOKEN) ?? [];
  const value = readPipe(tokens, scope);
  assert.equal(tokens.length, 0, code);
  return value;
}

/** Evaluates the tokens of a pipeline. The result of a command is the last argument of the next one. */
function readPipe(tokens: string[], scope: Scope): Value {
  let value = readCommand(tokens, scope, []);
  while (tokens[0] === '|') {
    tokens.shift();
    value = readCommand(tokens, scope, [value]);
  }
  return value;
}

function readCommand(tokens: string[], scope: Scope, piped: readonly Value[]): Value {
  const name = Object.hasOwn(FUNCTIONS, tokens[0] ?? '') ? tokens.shift() : undefined;
  const operands: Value[] = [];
  while (!['|', ')', undefined].includes(tokens[0])) operands.push(readOperand(tokens, scope));
  operands.push(...piped);
  // Each function takes operands of its own types, as the template names them.
  if (name !== undefined) return FUNCTIONS[name as keyof typeof FUNCTIONS](operands as never, scope);
  assert.equal(operands.length, 1, `no function: ${tokens}`);
  return operands[0];
}

function readOperand(tokens: string[], scope: Scope): Value {
  const token = tokens.shift() ?? '';
  if (token === '(') {
    const value = readPipe(tokens, scope);
    assert.equal(tokens.shift(), ')');
    return value;
  }
  if (token.startsWith('"')) return JSON.parse(token);
  if (/^\d+$/.test(token)) return Number(token);
  const [, variable = '', path = ''] =
    /^(\$\w*)?((?:\.\w+)*|\.)$/.exec(token) ?? assert.fail(`what is ${token}?`);
  const from = variable === '' ? scope.dot : scope.variables[variable];
  const keys = path.split('.').filter((key) => key !== '');
  return keys.reduce((value, key) => (value as Record<string, Value> | undefined)?.[key], from);
}

const readLiteral = (code: string): string => JSON.parse(code);
const indent = (spaces: number, text: string) => text.replaceAll(/^/gm, ' '.repeat(spaces));

/** Each function takes its operands as a list. */
const FUNCTIONS = {
  and: (all: Value[]) => all.find((value) => !isTrue(value)) ?? all.at(-1),
  not: ([value]: [Value]) => !isTrue(value),
  default: ([usual, value]: [Value, Value]) => (isTrue(value) ? value : usual),
  quote: ([value]: [Value]) => JSON.stringify(String(value)),
  trunc: ([length, text]: [number, string]) => text.slice(0, length),
  trimSuffix: ([end, text]: [string, string]) => (text.endsWith(end) ? text.slice(0, -end.length) : text),
  nindent: ([spaces, text]: [number, string]) => `\n${indent(spaces, text)}`,
  toYaml: ([value]: [Value]) => stringify(value).trimEnd(),
  printf: ([format, ...values]: [string, ...string[]]) =>
    format.replaceAll('%s', () => String(values.shift())),
  dict: (all: Value[]) =>
    Object.fromEntries(all.flatMap((key, index) => (index % 2 === 0 ? [[key, all[index + 1]]] : []))),
  include: ([name, dot]: [string, Value], { defines }: Scope) =>
    render(defines.get(name) ?? assert.fail(`no ${name}`), { dot, variables: { $: dot }, defines }),
};
