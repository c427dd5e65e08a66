import type { SoughtWords } from '../search-port.ts';
import { errorsOf, listForgivable, listPatterns, NearestWords, planTiers } from '../words/words.ts';
import { type OpenIndex, startPart } from './search-index.ts';
import type { SearchPlan } from './search-plan.ts';

/** The words that a search may mean. Source: docs/interface §4.13 rule 4. */

/** How long words are compared. The 17,582 words of a million products take some milliseconds. */
const COMPARING_MS = 1_000;

interface MeantWords {
  /** The meant words of each word of the search, nearest first. */
  readonly meant: readonly (readonly string[])[];
  /** Whether the time sufficed only for a part of the words. */
  readonly isCut: boolean;
}

const NOTHING_MEANT: MeantWords = { meant: [], isCut: false };

/**
 * @returns the plan with words of the index: words that begin with those of the question, and, if errors are
 * forgiven, words that it may mean
 * @throws search_too_long, not_ready
 */
export async function readWords(
  plan: SearchPlan,
  index: OpenIndex,
  { isForgiving }: { readonly isForgiving: boolean },
): Promise<SearchPlan> {
  if (!index.isMade) return plan;
  const lexemes = plan.tiers.ranked.flatMap(({ all }) => all.flat());
  const begun = await index.snapshot.findBegun(lexemes.filter((lexeme) => lexeme.endsWith('*')));
  const { meant, isCut } = isForgiving ? await findMeant(plan.worded.words, index) : NOTHING_MEANT;
  return { ...plan, isCut, tiers: planTiers({ ...plan.worded, meant, begun }) };
}

/** Compares the words of the index part by part, until its time is used up. @throws search_too_long, not_ready */
async function findMeant(
  words: readonly string[],
  { snapshot, tail, budget, limits }: Pick<OpenIndex, 'snapshot' | 'tail' | 'budget' | 'limits'>,
): Promise<MeantWords> {
  const compared = words.map((word) => ({ word, nearest: new NearestWords(word) }));
  const sought = compared.filter(({ word }) => errorsOf(word) > 0);
  const longestMs = Math.min(COMPARING_MS, limits.longestMs);
  const isOver = startPart({ budget, limits: { ...limits, longestMs } });
  let isCut = false;
  const compare = (nearest: NearestWords, words: readonly string[]) => {
    for (const word of words) {
      isCut ||= isOver();
      if (isCut) return;
      nearest.add(word);
    }
  };
  for (const { lexemes } of sought.length === 0 ? [] : tail) {
    const ofProduct = listForgivable(lexemes);
    for (const { nearest } of sought) compare(nearest, ofProduct);
  }
  for (const { word, nearest } of sought)
    for (let after: string | undefined = word[0]; after !== undefined && !isCut; ) {
      const part = await snapshot.listWords(describeSought(word, after));
      compare(nearest, part.words);
      after = part.last;
    }
  return { meant: compared.map(({ nearest }) => nearest.list()), isCut };
}

function describeSought(word: string, after: string): SoughtWords {
  const most = errorsOf(word);
  const [first = ''] = word;
  return {
    first,
    after,
    shortest: word.length - most,
    longest: word.length + most,
    patterns: listPatterns(word),
  };
}
