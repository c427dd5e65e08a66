/** The most letters that may differ. */
const MOST_WRONG = 2;

/** @returns the name that was probably meant, by edit distance; undefined if none is close */
export function findNearest(text: string, names: readonly string[]): string | undefined {
  const typed = text.trim().toLowerCase();
  if (typed.length <= MOST_WRONG) return undefined;
  const near = names
    .map((name) => ({ name, wrong: countWrong(typed, name.toLowerCase()) }))
    .filter(({ wrong }) => wrong <= MOST_WRONG)
    .sort((candidate, next) => candidate.wrong - next.wrong);
  return near[0]?.name;
}

/** The edit distance of two texts. It is not exact above the maximum. */
function countWrong(text: string, other: string): number {
  if (Math.abs(text.length - other.length) > MOST_WRONG) return MOST_WRONG + 1;
  const start = Array.from({ length: other.length + 1 }, (_, index) => index);
  const last = [...text].reduce(
    (row, letter, letterIndex) => nextRow(row, { letter, index: letterIndex, other }),
    start,
  );
  return last[other.length] ?? 0;
}

function nextRow(
  row: readonly number[],
  { letter, index, other }: { letter: string; index: number; other: string },
) {
  const next = [index + 1];
  for (const [position, sign] of [...other].entries()) {
    const replaced = (row[position] ?? 0) + (sign === letter ? 0 : 1);
    next.push(Math.min(replaced, (row[position + 1] ?? 0) + 1, (next[position] ?? 0) + 1));
  }
  return next;
}
