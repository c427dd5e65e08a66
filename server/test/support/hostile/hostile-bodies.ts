import type { ApiSchema } from '../../../openapi/document.ts';
import type { Ingredients, Known, Operation } from './hostile-addresses.ts';
import {
  below,
  corrupt,
  HOSTILE_TEXTS,
  type JsonNode,
  Members,
  makeHostile,
  mutate,
  pick,
  type Random,
  writeJson,
} from './hostile-values.ts';
import type { SchemaValues } from './schema-values.ts';

/** A body with more broken places would have nothing in common with its operation. */
export const MOST_BROKEN = 3;

/** Makes bodies with a number of broken places, from none to `MOST_BROKEN`. */
export class HostileBodies {
  readonly #random: Random;
  readonly #known: Known;
  readonly #values: SchemaValues;

  constructor({ random, things, values }: Ingredients) {
    this.#random = random;
    this.#known = things;
    this.#values = values;
  }

  makeBody({ requestBody, template }: Operation, broken: number): Uint8Array | undefined {
    const [[type, { schema = {} }] = [undefined, {}]] = Object.entries(requestBody?.content ?? {});
    if (type === undefined)
      return this.#random() < 0.9 ? undefined : Buffer.from(writeJson(makeHostile(this.#random)));
    if (type === 'application/x-ndjson') return this.#breakText(this.#makeLines(broken), broken);
    if (type === 'application/octet-stream') return this.#breakText(this.#makeFile(), broken);
    return this.#breakText(writeJson(this.#makeJson({ schema, template }, broken)), broken);
  }

  #breakText(text: string, broken: number): Uint8Array {
    return broken > 0 && this.#random() < 0.15 ? corrupt(this.#random, text) : Buffer.from(text);
  }

  #makeJson({ schema, template }: { schema: ApiSchema; template: string }, broken: number): JsonNode {
    if (broken === MOST_BROKEN) return makeHostile(this.#random);
    let node = template === '/mcp' ? this.#makeMessage() : this.#values.make(schema);
    for (let count = 0; count < broken; count += 1) node = mutate(this.#random, node);
    return node;
  }

  #makeLines(broken: number): string {
    const random = this.#random;
    const line = (): JsonNode =>
      new Members([
        ['source', `A-${below(random, 12)}`],
        ['targets', [`A-${below(random, 12)}`, `A-${below(random, 12)}`]],
      ]);
    const lines = Array.from({ length: below(random, 5) }, () =>
      broken > 0 ? mutate(random, line()) : line(),
    );
    return lines.map(writeJson).join(pick(random, ['\n', '\r\n', '\n\n']));
  }

  #makeFile(): string {
    return pick(this.#random, [
      'sku,title,price\nA-1,Saw,5\nA-2,Drill,6\n',
      '"sku";"title"\n"A-1;Saw\n',
      '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
      'PK\u0003\u0004',
      '{"identifier":"A-1","name":"Saw"}\n{',
      HOSTILE_TEXTS.join('\n').toWellFormed(),
    ]);
  }

  /** A message of the Model Context Protocol. */
  #makeMessage(): JsonNode {
    const random = this.#random;
    const tool = pick(random, this.#known.tools);
    const call = new Members([
      ['name', tool?.name ?? 'none'],
      ['arguments', this.#values.make(tool?.inputSchema ?? {})],
    ]);
    const method = pick(random, [
      'tools/call',
      'tools/call',
      'tools/call',
      'tools/list',
      'initialize',
      'ping',
      'resources/list',
    ]);
    return new Members([
      ['jsonrpc', '2.0'],
      ['id', pick<JsonNode>(random, [1, 'a', null, 0.5])],
      ['method', method],
      ['params', method === 'tools/call' ? call : new Members([])],
    ]);
  }
}
