import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { FormatProblem, fieldTooLarge, LIMITS, tooDeep } from '../input/input.ts';

export interface Container {
  readonly isArray: boolean;
  /** The dotted keys that lead to the container. An element of a list has the path of the list. */
  readonly path: string;
  key: string;
}

export const pathBelow = (container: Container | undefined): string =>
  [container?.path ?? '', container?.key ?? ''].filter((part) => part !== '').join('.');

/** Tracks the open containers. @returns the container that a token opens. @throws FormatProblem too_large */
export function follow(open: Container[], token: Token): Container | undefined {
  const last = open.at(-1);
  if (token.name === 'keyValue' && last !== undefined) last.key = token.value;
  else if (token.name === 'endObject' || token.name === 'endArray') open.pop();
  if (token.name !== 'startObject' && token.name !== 'startArray') return undefined;
  if (open.length >= LIMITS.depth) throw tooDeep('The document');
  const opened = { isArray: token.name === 'startArray', path: pathBelow(last), key: '' };
  open.push(opened);
  return opened;
}

/** Tokens of values: texts, numbers, true and false. Null does not count as a value. */
export const VALUES = new Set(['stringValue', 'numberValue', 'trueValue', 'falseValue']);

/**
 * Splits JSON that arrives in chunks into tokens. Numbers stay text, and a string has at most the length of a field.
 */
export class JsonTokenizer {
  readonly #parse = jsonParser({ packValues: true, streamValues: false });
  #quietCharacters = 0;

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): readonly Token[] {
    const tokens = this.#run(chunk, 'damaged');
    // An unfinished string makes no token, and must not grow without bound.
    this.#quietCharacters = tokens.length > 0 ? 0 : this.#quietCharacters + chunk.length;
    if (this.#quietCharacters > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    return tokens;
  }

  /** @throws FormatProblem broken_off */
  end(): readonly Token[] {
    // The parser accepts this value as its end, although its types do not include it.
    return this.#run(none, 'broken_off');
  }

  #run(chunk: string | typeof none, reason: 'damaged' | 'broken_off'): readonly Token[] {
    try {
      const outcome: unknown = this.#parse(chunk as string);
      return isMany(outcome) ? (getManyValues(outcome) as Token[]) : [];
    } catch (cause) {
      const text = (cause as Error).message.replace(/^Parser (cannot parse input: |has )?/, '');
      const message = reason === 'damaged' ? `The text is not JSON: ${text}` : 'The JSON ends in the middle';
      throw new FormatProblem(reason, message, { cause });
    }
  }
}
