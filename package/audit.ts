import { spawnSync } from 'node:child_process';

/**
 * `node package/audit.ts`: ends with 1 if a package that Relata includes has a known vulnerability of severity high or
 * critical. It also ends with 1 if the registry gave no usable answer.
 */

interface Audit {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  /** The reason why there is no answer. */
  readonly message?: string;
  readonly error?: { readonly summary?: string };
}

const GRAVE = ['high', 'critical'];

/** @param said the output of `npm audit --json`. @returns the reasons against publishing, none if there are none */
export function findObstacles(said: string): string[] {
  const { vulnerabilities, message, error } = read(said);
  if (vulnerabilities === undefined) {
    const why = message || error?.summary || 'the output is not JSON';
    return [`npm audit got no answer (${why}): nothing is known of vulnerabilities, so nothing is published`];
  }
  return Object.entries(vulnerabilities)
    .filter(([, { severity }]) => GRAVE.includes(severity))
    .map(([name, { severity }]) => `${name} has a vulnerability of severity ${severity}: see npm audit`);
}

function read(said: string): Audit {
  try {
    return JSON.parse(said) as Audit;
  } catch {
    return {};
  }
}

if (import.meta.main) {
  const { stdout } = spawnSync('npm', ['audit', '--package-lock-only', '--omit=dev', '--json'], {
    encoding: 'utf8',
  });
  const obstacles = findObstacles(stdout);
  for (const obstacle of obstacles) process.stderr.write(`${obstacle}\n`);
  process.exitCode = obstacles.length === 0 ? 0 : 1;
}
