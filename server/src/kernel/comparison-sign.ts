/** As people write comparisons, and what is true where one does not hold. */
const SIGNS: Readonly<Record<string, readonly [sign: string, opposite: string]>> = {
  ...{ equals: ['=', '≠'], notEquals: ['≠', '='] },
  ...{ less: ['<', '≥'], lessOrEqual: ['≤', '>'], greater: ['>', '≤'], greaterOrEqual: ['≥', '<'] },
};

/** @returns `≤` where the comparison holds, `>` where it does not, `≤?` where a value is missing */
export function signOf(operator: string, verdict: string): string {
  const [sign, opposite] = SIGNS[operator] ?? [operator, `not ${operator}`];
  if (verdict === 'unknown') return `${sign}?`;
  return verdict === 'fits' ? sign : opposite;
}
