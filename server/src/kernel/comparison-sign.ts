/** The sign of each comparison, and that of its opposite. */
const SIGNS: Readonly<Record<string, readonly [sign: string, opposite: string]>> = {
  equals: ['=', '≠'],
  notEquals: ['≠', '='],
  less: ['<', '≥'],
  lessOrEqual: ['≤', '>'],
  greater: ['>', '≤'],
  greaterOrEqual: ['≥', '<'],
};

/** @returns `≤` if the comparison holds, `>` if it does not, `≤?` if a value is missing */
export function signOf(operator: string, verdict: string): string {
  const [sign, opposite] = SIGNS[operator] ?? [operator, `not ${operator}`];
  if (verdict === 'unknown') return `${sign}?`;
  return verdict === 'fits' ? sign : opposite;
}
