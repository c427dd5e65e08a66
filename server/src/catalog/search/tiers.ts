import type { LexemeGroups, SearchTier } from '../port.ts';
import { joinWords } from './words.ts';

export interface SearchTiers {
  /** Best first: the identifier itself, then all words in identifier, name and brand, whole and begun, then anywhere. */
  readonly ranked: readonly SearchTier[];
  /** The same products in fewer parts, to be counted. */
  readonly counted: readonly SearchTier[];
}

/** @param narrowing what the filter demands of every hit */
export function planTiers(words: readonly string[], narrowing: LexemeGroups): SearchTiers {
  const last = words.at(-1);
  if (last === undefined) {
    const all = [{ all: narrowing, except: [] }];
    return { ranked: all, counted: all };
  }
  const whole = [...new Set(words.slice(0, -1))];
  const find = (kind: string, end = ''): LexemeGroups => [
    ...whole.map((word) => [`${kind}${word}`]),
    [`${kind}${last}${end}`],
    ...narrowing,
  ];
  const identity = [[`i${joinWords(words)}`], ...narrowing];
  const sets = [identity, find('n'), find('n', '*'), find('a', '*')];
  const ranked = sets.map((all, at) => ({ all, except: sets.slice(0, at) }));
  const rest = { all: find('a', '*'), except: [identity] };
  return { ranked, counted: [{ all: identity, except: [] }, rest] };
}

/** @returns what an index would say of a product that is not in it yet */
export const isInTier = ({ all, except }: SearchTier, lexemes: ReadonlySet<string>): boolean =>
  holdsAll(all, lexemes) && !except.some((groups) => holdsAll(groups, lexemes));

export const holdsAll = (groups: LexemeGroups, lexemes: ReadonlySet<string>) =>
  groups.every((group) => group.some((lexeme) => holds(lexeme, lexemes)));

function holds(lexeme: string, lexemes: ReadonlySet<string>): boolean {
  if (!lexeme.endsWith('*')) return lexemes.has(lexeme);
  const begin = lexeme.slice(0, -1);
  for (const one of lexemes) if (one.startsWith(begin)) return true;
  return false;
}
