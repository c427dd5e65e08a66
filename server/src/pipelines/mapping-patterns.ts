/**
 * Patterns run on RE2JS, whose time is linear in the text: a pattern comes from outside, and the engine of JavaScript can be
 * kept busy for years by `(a+)+$`. What RE2 has not (look-around, back-references) is refused when a mapping is compiled.
 */
import { RE2JS } from 're2js';

/** A text longer than that is not made: the readers hand over no longer field either. */
export const TEXT_LENGTH = 1024 * 1024;

/** @returns a replaced text; undefined when it would be too long */
export type Replace = (text: string) => string | undefined;

/** @throws Error that says what is wrong with the pattern */
export function compilePattern(pattern: string): (text: string) => boolean {
  const compiled = RE2JS.compile(pattern);
  return (text) => compiled.test(text);
}

/** `from` as it stands, every occurrence; nothing in `to` has a meaning of its own. */
export function replaceText(from: string, to: string): Replace {
  return (text) => {
    if (!text.includes(from)) return text;
    const parts = text.split(from);
    const length = text.length + (parts.length - 1) * (to.length - from.length);
    return length > TEXT_LENGTH ? undefined : parts.join(to);
  };
}

/** @throws Error that says what is wrong with the pattern */
export function replacePattern(from: string, to: string): Replace {
  const compiled = RE2JS.compile(from);
  const groups = compiled.groupCount();
  const parts = readTemplate(to);
  const missing = parts.find((part) => typeof part === 'number' && part > groups);
  if (missing !== undefined) throw new Error(`$${missing} stands for no group of the pattern`);
  return (text) => {
    const made = new LimitedText();
    let end = 0;
    for (const match of compiled.matchAll(text)) {
      const { index = 0 } = match;
      made.add(text.slice(end, index));
      fillTemplate(parts, match, made);
      if (made.isTooLong()) return undefined;
      end = index + match[0].length;
    }
    made.add(text.slice(end));
    return made.isTooLong() ? undefined : made.text();
  };
}

function fillTemplate(
  parts: readonly (string | number)[],
  match: readonly string[],
  made: LimitedText,
): void {
  for (const part of parts) made.add(typeof part === 'string' ? part : (match[part] ?? ''));
}

class LimitedText {
  readonly #pieces: string[] = [];
  #length = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  isTooLong(): boolean {
    return this.#length > TEXT_LENGTH;
  }

  text(): string {
    return this.#pieces.join('');
  }
}

/** @returns texts, and the numbers of groups whose text stands there; 0 is the whole match */
function readTemplate(to: string): (string | number)[] {
  return to.split(/(\$[1-9&$])/).map((part) => {
    if (!/^\$[1-9&$]$/.test(part)) return part;
    if (part === '$$') return '$';
    return part === '$&' ? 0 : Number(part[1]);
  });
}
