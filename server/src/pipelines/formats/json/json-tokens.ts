import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { FormatProblem, fieldTooLarge, LIMITS } from '../format-problem.ts';

export type { Token } from 'stream-json/core/parser.js';

/** Splits JSON that comes in chunks into tokens. Numbers keep their text; no string is longer than a field may be. */
export class JsonTokenizer {
  readonly #parse = jsonParser({ packValues: true, streamValues: false });
  #quietCharacters = 0;

  /** @throws FormatProblem damaged, too_large */
  push(chunk: string): readonly Token[] {
    const tokens = this.#run(chunk, 'damaged');
    // A string that is not finished makes no token, and must not grow for ever.
    this.#quietCharacters = tokens.length > 0 ? 0 : this.#quietCharacters + chunk.length;
    if (this.#quietCharacters > LIMITS.fieldCharacters) throw fieldTooLarge('A value');
    return tokens;
  }

  /** @throws FormatProblem broken_off */
  end(): readonly Token[] {
    // The parser takes this sign in place of a text; its types do not say so.
    return this.#run(none as unknown as string, 'broken_off');
  }

  #run(chunk: string, reason: 'damaged' | 'broken_off'): readonly Token[] {
    try {
      const outcome: unknown = this.#parse(chunk);
      return isMany(outcome) ? (getManyValues(outcome) as Token[]) : [];
    } catch (cause) {
      const message = reason === 'damaged' ? describe(cause) : 'The JSON ends in the middle';
      throw new FormatProblem(reason, message, { cause });
    }
  }
}

function describe(cause: unknown): string {
  const text =
    cause instanceof Error ? cause.message.replace(/^Parser (cannot parse input: |has )?/, '') : '';
  return `The text is not JSON: ${text}`;
}
