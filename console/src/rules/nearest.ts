/** The most letters that may differ. */
const MOST_WRONG = 2;

/** @returns the name that was probably meant, by edit distance; undefined if none is close */
export function findNearest(text: string, names: readonly string[]): string | undefined {
  const typed = text.trim().toLowerCase();
  if (typed.length <= MOST_WRONG) return undefined;
  const near = names
    .map((name) => ({ name, wrong: countWrong(typed, name.toLowerCase()) }))
    .filter(({ wrong }) => wrong <= MOST_WRONG)
    .sort((one, next) => one.wrong - next.wrong);
  return near[0]?.name;
}

/** The edit distance of two texts, as far as it matters here. */
function countWrong(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MOST_WRONG) return MOST_WRONG + 1;
  const start = Array.from({ length: other.length + 1 }, (_, at) => at);
  const last = [...one].reduce((row, letter, at) => nextRow(row, { letter, at, other }), start);
  return last[other.length] ?? 0;
}

function nextRow(
  row: readonly number[],
  { letter, at, other }: { letter: string; at: number; other: string },
) {
  const next = [at + 1];
  for (const [place, sign] of [...other].entries()) {
    const replaced = (row[place] ?? 0) + (sign === letter ? 0 : 1);
    next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
  }
  return next;
}
