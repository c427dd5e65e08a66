/**
 * Prints the breaches of a rule, a line each, in the form of dependency-cruiser. If there is any, the program ends with
 * status 1.
 */
export function reportBreaches(rule: string, breaches: readonly string[]): void {
  for (const breach of breaches) process.stderr.write(`  error ${rule}: ${breach}\n`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}
