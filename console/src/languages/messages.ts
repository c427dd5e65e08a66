import type { CompiledIcuChoices, CompiledMessage } from '@lingui/message-utils/compileMessage';

interface Reading {
  readonly text: string;
  offset: number;
}

const PLAIN = /[^{}]+/y;
const ARGUMENT = /\{\s*(\w+)\s*(?:,\s*(\w+)\s*)?/y;
const CASE = /\s*=?(\w+)\s*\{/y;
const END = /\s*\}/y;

/**
 * Compiles ICU messages with arguments, numbers, plurals and choices, but without quoting. The console needs no
 * more, and this takes a tenth of the code of a full parser.
 * @returns the form that @lingui/core takes
 */
export function compileMessage(text: string): CompiledMessage {
  const reading = { text, offset: 0 };
  const tokens = readTokens(reading, false);
  if (reading.offset < text.length) throw unreadable(reading);
  return tokens;
}

function readTokens(reading: Reading, isPlural: boolean): CompiledMessage {
  const tokens: CompiledMessage = [];
  for (;;) {
    const plain = take(reading, PLAIN)?.[0];
    if (plain !== undefined) tokens.push(...(isPlural ? plain.split(/(#)/).filter(Boolean) : [plain]));
    else if (reading.text[reading.offset] === '{') tokens.push(readArgument(reading));
    else return tokens;
  }
}

function readArgument(reading: Reading): CompiledMessage[number] {
  const [, name = '', type] = take(reading, ARGUMENT) ?? [];
  if (name === '') throw unreadable(reading);
  if (take(reading, END)) return type === undefined ? [name] : [name, type];
  reading.offset += 1;
  return [name, type ?? '', readCases(reading, type === 'plural')];
}

function readCases(reading: Reading, isPlural: boolean): CompiledIcuChoices {
  const cases: Record<string, CompiledMessage> = {};
  for (let match = take(reading, CASE); match; match = take(reading, CASE)) {
    cases[match[1] ?? ''] = readTokens(reading, isPlural);
    if (!take(reading, END)) throw unreadable(reading);
  }
  if (!('other' in cases && take(reading, END))) throw unreadable(reading);
  return cases as CompiledIcuChoices;
}

function take(reading: Reading, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reading.offset;
  const match = pattern.exec(reading.text);
  if (match) reading.offset = pattern.lastIndex;
  return match;
}

const unreadable = ({ text, offset }: Reading) => new Error(`a message cannot be read at ${offset}: ${text}`);
