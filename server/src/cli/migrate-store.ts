import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import { type MoveOptions, type MoveSummary, moveStore } from '../transfer/transfer.ts';
import { ProgressLine } from './progress-line.ts';

/** More are not read; the first ones say where to look. */
const SHOWN_DIFFERENCES = 20;

/** `relata migrate-store --from … --to …`: from a data directory to PostgreSQL or back, while neither is served. */
export async function migrateStoreCommand({
  from,
  to,
  force = false,
}: {
  from: string;
  to: string;
  force?: boolean | undefined;
}): Promise<number> {
  const { catalogs, rows, payloads, differences } = await moveShown({ from, to, isForced: force });
  if (differences.length > 0) {
    for (const difference of differences.slice(0, SHOWN_DIFFERENCES)) console.error(difference);
    console.error(
      `The two stores differ in ${differences.length} places, the target is not served: empty it and move again.`,
    );
    return 1;
  }
  console.log(
    `${catalogs} catalogs, ${rows} rows and ${payloads} bodies of open tasks were moved and compared: both stores are the same`,
  );
  return 0;
}

const WHAT: Partial<Record<FailureCode, string>> = {
  storage_full: 'The disk is full',
  storage_failed: 'The disk reports errors',
};

async function moveShown(options: MoveOptions): Promise<MoveSummary> {
  const line = new ProgressLine(process.stderr);
  try {
    return await moveStore({ ...options, onProgress: (progress) => line.show(progress) });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const what = WHAT[error.code] ?? 'The database cannot be reached';
    const why = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    throw new Error(`${what}${why}: run the same command again, it goes on where it stopped`);
  } finally {
    line.end();
  }
}
