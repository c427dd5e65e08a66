import type { ApiOperation, ApiParameter } from '../../../openapi/document.ts';
import {
  below,
  type JsonNode,
  Literal,
  Members,
  makeHostile,
  makeText,
  mutate,
  pick,
  type Random,
  writeJson,
} from './hostile-values.ts';
import type { SchemaValues } from './schema-values.ts';

/** An operation of the document. */
export interface Operation extends ApiOperation {
  readonly method: string;
  readonly template: string;
}

/** Existing things: their paths, by path template. */
export interface Known {
  list(template: string): readonly string[];
  /** The tools for agents, with their input. */
  readonly tools: readonly { readonly name: string; readonly inputSchema: object }[];
}

/** The texts and values that requests are made of. */
export interface Ingredients {
  readonly random: Random;
  readonly things: Known;
  readonly values: SchemaValues;
}

const PROJECT = '/management/projects/{id}';

/** Makes paths and queries, from valid to hostile. */
export class HostileAddresses {
  readonly #random: Random;
  readonly #known: Known;
  readonly #values: SchemaValues;

  constructor({ random, things, values }: Ingredients) {
    this.#random = random;
    this.#known = things;
    this.#values = values;
  }

  makePath({ template, parameters = [] }: Operation, isHostile: boolean): string {
    const makePart = (part: string): string => {
      if (isHostile && /^(\d+|\{\w+\})$/.test(part) && this.#chance(0.3))
        return this.#encodePart(makeText(this.#random));
      if (!part.startsWith('{')) return part;
      const { schema = {} } = parameters.find(({ name }) => `{${name}}` === part) ?? {};
      return this.#encodePart(asText(this.#values.make(schema, part.slice(1, -1))));
    };
    return this.#fillKnown(template).map(makePart).join('/');
  }

  makeQuery({ parameters = [] }: Operation, isHostile: boolean): string {
    const sent = parameters.filter(
      (parameter) =>
        parameter.in === 'query' && (parameter.required || this.#chance(shareOf(parameter, isHostile))),
    );
    const pairs = sent.flatMap((parameter) => this.#makeParameter(parameter, isHostile));
    if (isHostile && this.#chance(0.2)) pairs.push([makeText(this.#random), makeText(this.#random)]);
    if (isHostile && this.#chance(0.1)) pairs.push(...pairs);
    const text = pairs.map(([name, value]) => `${encodeName(name)}=${this.#encodePart(value)}`).join('&');
    return text === '' ? '' : `?${text}`;
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  /** @returns the path's parts, as far as known things fill them */
  #fillKnown(template: string): string[] {
    const parts = template.split('/');
    const ends = parts.flatMap((part, index) => (part.startsWith('{') ? [index + 1] : [])).reverse();
    for (const end of ends) {
      const paths = this.#known.list(parts.slice(0, end).join('/'));
      if (paths.length > 0) return [...this.#pickKnown(paths).split('/'), ...parts.slice(end)];
    }
    return parts;
  }

  /** Most requests use the first thing, so that their effects add up. */
  #pickKnown(paths: readonly string[]): string {
    return this.#chance(0.6) ? (paths[0] ?? '') : pick(this.#random, paths);
  }

  /** Node's client does not send a blank unchanged. */
  #encodePart(text: string): string {
    if (this.#chance(0.05))
      return pick(this.#random, ['%', '%00', '%zz', '%c0%af', '%ed%a0%80', '..', '%2e%2e', '%2F', '']);
    return encodeURIComponent(text.toWellFormed()).slice(0, 6_000);
  }

  #makeParameter({ name, schema = {} }: ApiParameter, isHostile: boolean): [string, string][] {
    if (isHostile && this.#chance(0.3)) return [this.#makeHostileParameter(name)];
    const projects = name === 'projectId' ? this.#known.list(PROJECT) : [];
    if (projects.length > 0) return [[name, this.#pickKnown(projects).split('/').at(-1) ?? '']];
    return [[name, this.#makeListed(name) ?? asText(this.#values.make(schema, name))]];
  }

  #makeHostileParameter(name: string): [string, string] {
    const random = this.#random;
    if (this.#chance(0.4)) return [name, writeJson(makeHostile(random)).slice(0, 20_000)];
    return [pick(random, [name, `${name}[]`, `${name}[0]`, `${name}[a]`]), makeText(random)];
  }

  /** Lists in a parameter, written as JSON. */
  #makeListed(name: string): string | undefined {
    const random = this.#random;
    const limit = pick(random, [1, 10, 100, 101]);
    const listed: Record<string, JsonNode> = {
      identifiers: ['A-1', 'A-2'],
      includeTags: [
        new Members([
          ['tag', 'fits'],
          ['limitPerRelation', limit],
        ]),
      ],
      includeRelations: [
        new Members([
          ['id', 1 + below(random, 5)],
          ['limit', limit],
        ]),
      ],
      filter: this.#values.make({ title: 'Filter' }),
      category: ['Tools', 'Saws'].slice(0, 1 + below(random, 2)),
      under: ['Tools'],
    };
    const node = listed[name];
    if (node === undefined || this.#chance(0.2)) return undefined;
    return writeJson(this.#chance(0.3) ? mutate(random, node) : node);
  }
}

/** Without a project, almost nothing is checked. An invented cursor is never a cursor of the service. */
const shareOf = ({ name }: ApiParameter, isHostile: boolean) =>
  name === 'projectId' ? 0.98 : name === 'cursor' && !isHostile ? 0.02 : 0.4;

const encodeName = (name: string) =>
  encodeURIComponent(name.toWellFormed()).replaceAll('%5B', '[').replaceAll('%5D', ']');

function asText(node: JsonNode): string {
  if (node instanceof Literal) return node.text;
  if (typeof node === 'string') return node;
  return writeJson(node);
}
