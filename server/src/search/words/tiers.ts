import type { LexemeGroups, SearchTier } from '../search-port.ts';
import { joinWords } from './lexeme-parts.ts';

export interface SearchTiers {
  /**
   * The tiers, best first: the identifier itself; all words in identifier, name and brand, whole and then as
   * prefixes; all words anywhere; then the last two with typing errors.
   */
  readonly ranked: readonly SearchTier[];
  /** The same products in fewer parts, to count them. */
  readonly counted: readonly SearchTier[];
}

export interface WordedSearch {
  readonly words: readonly string[];
  readonly narrowing: LexemeGroups;
  /** The other words that each word may mean; undefined: no errors are forgiven. */
  readonly meant?: readonly (readonly string[])[] | undefined;
  readonly begun?: SearchTier['begun'];
}

export function planTiers({ words, narrowing, meant = [], begun }: WordedSearch): SearchTiers {
  if (words.length === 0) {
    const all = [{ all: narrowing, except: [] }];
    return { ranked: all, counted: all };
  }
  const find = (kind: string, end = '', others: WordedSearch['meant'] = []): LexemeGroups => [
    ...words.map((word, index) => [
      `${kind}${word}${end}`,
      ...(others[index] ?? []).map((other) => `${kind}${other}`),
    ]),
    ...narrowing,
  ];
  const identity = [[`i${joinWords(words)}`], ...narrowing];
  const [whole, begins, anywhere] = [find('n'), find('n', '*'), find('a', '*')];
  const exact = [
    { all: identity, except: [] },
    { all: whole, except: [identity] },
    { all: begins, except: [identity, whole] },
    { all: anywhere, except: [identity, begins] },
  ];
  const isForgiving = meant.some(({ length }) => length > 0);
  const [inHead, wherever] = [find('n', '*', meant), find('a', '*', meant)];
  const forgiven = [
    { all: inHead, except: [identity, anywhere] },
    { all: wherever, except: [identity, anywhere, inHead] },
  ];
  const remaining = { all: wherever, except: [identity] };
  const withBegun = (tier: SearchTier) => ({ ...tier, begun });
  return {
    ranked: (isForgiving ? [...exact, ...forgiven] : exact).map(withBegun),
    counted: [{ all: identity, except: [] }, remaining].map(withBegun),
  };
}

/** @returns whether a tier matches a product that is not in the index yet */
export const isInTier = ({ all, except }: SearchTier, lexemes: ReadonlySet<string>): boolean =>
  holdsAll(all, lexemes) && !except.some((groups) => holdsAll(groups, lexemes));

export const holdsAll = (groups: LexemeGroups, lexemes: ReadonlySet<string>) =>
  groups.every((group) => group.some((lexeme) => holds(lexeme, lexemes)));

function holds(lexeme: string, lexemes: ReadonlySet<string>): boolean {
  if (!lexeme.endsWith('*')) return lexemes.has(lexeme);
  const begin = lexeme.slice(0, -1);
  for (const candidate of lexemes) if (candidate.startsWith(begin)) return true;
  return false;
}
