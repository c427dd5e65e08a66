import { resolve } from 'node:path';
import { hasPackage } from '../support/postgres/postgres-binaries.ts';
import { type PostgresServer, startPostgres } from '../support/postgres/postgres-server.ts';
import {
  findOwnPass,
  listTestFiles,
  PASSES,
  type PassName,
  type TestFile,
  TIERS,
  type Tier,
} from './test-marks.ts';
import type { Pass } from './test-processes.ts';

/**
 * The number of random cases that a tier tries on the embedded store. `npm run test:long` tries all (CONTRIBUTING.md).
 */
const CASES: Readonly<Record<Tier, Readonly<Record<string, string>>>> = {
  test: { RELATA_TEST_BODIES: '3000', RELATA_TEST_RUNS: '10' },
  deep: {
    RELATA_TEST_BODIES: '10000',
    RELATA_TEST_LOSSES: '1',
    RELATA_TEST_CUTS: '2',
    RELATA_TEST_KEPT_STEPS: '60',
  },
  long: {},
};
/** The embedded store reads the whole catalog. A few batches are enough for the statements of PostgreSQL. */
const CASES_ON_POSTGRES = {
  RELATA_TEST_PRODUCTS: '12000',
  RELATA_TEST_RUNS: '5',
  RELATA_TEST_SOURCES: '60',
  RELATA_TEST_PAIRS: '10000',
};

/** @returns by pass, the given files or those that belong to the tier */
export function chooseFiles(words: readonly string[], tier: Tier): Map<PassName, TestFile[]> {
  const paths = words.filter((word) => word.endsWith('.test.ts')).map((path) => resolve(path));
  if (paths.length > 0) {
    const isOnPostgres = process.env.RELATA_TEST_STORE === 'postgres';
    const given = paths.map((path) => ({ path, runs: [], flags: new Set(['own'] as const) }));
    return Map.groupBy(given, ({ path }) => (isOnPostgres ? 'postgres' : findOwnPass(path)));
  }
  const named = PASSES.filter((pass) => words.includes(pass));
  const files = listTestFiles();
  const filesOf = (pass: PassName) =>
    files.filter(({ runs }) => runs.some((run) => run.pass === pass && run.tier === tier));
  return new Map((named.length > 0 ? named : PASSES).map((pass) => [pass, filesOf(pass)]));
}

export const readTier = (words: readonly string[]): Tier =>
  TIERS.find((tier) => words.includes(tier)) ?? 'test';

/** @returns the passes that this machine can run, and the PostgreSQL of all its files */
export async function openPasses(
  words: readonly string[],
): Promise<{ passes: Pass[]; server: PostgresServer | undefined }> {
  const tier = readTier(words);
  const chosen = [...chooseFiles(words, tier)].filter(([, files]) => files.length > 0);
  const needsServer = chosen.some(([name]) => name === 'postgres');
  const hasServer = hasPackage() || process.env.RELATA_TEST_POSTGRES_BIN !== undefined;
  const server = needsServer && hasServer ? await startPostgres() : undefined;
  const urls: Partial<Record<PassName, string | undefined>> = {
    postgres: server?.url,
    citus: process.env.RELATA_TEST_CITUS,
  };
  const passes = chosen
    .filter(([name]) => !(name in urls) || urls[name] !== undefined)
    .map(([name, files]) => {
      const url = urls[name];
      const env =
        url === undefined
          ? { RELATA_TEST_STORE: 'embedded', ...CASES[tier] }
          : { RELATA_TEST_STORE: 'postgres', RELATA_TEST_DATABASE_URL: url, ...CASES_ON_POSTGRES };
      return { name, files, env };
    });
  return { passes, server };
}
