/** Prints what breaks a rule, a line each, in the form of dependency-cruiser. The program then ends with status 1 if anything does. */
export function reportBreaches(rule: string, breaches: readonly string[]): void {
  for (const breach of breaches) process.stderr.write(`  error ${rule}: ${breach}\n`);
  process.exitCode = breaches.length === 0 ? 0 : 1;
}
