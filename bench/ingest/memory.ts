import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { openMillion } from '../support/million.ts';
import { round, spreadOf } from '../support/statistics.ts';

/** The size of a batch limits the memory, not the size of the catalog. */
export const memory: Measurement = {
  name: 'memory',
  title: 'Memory of the process during a full update of 1,000,000 products',
  async measure(bench: Bench): Promise<Figure[]> {
    const { loading, count } = await openMillion(bench);
    const { afterTen, afterAll, afterCommit, time } = loading;
    const one = (value: number) => spreadOf([value]);
    return [
      {
        name: 'greatest resident memory, commit included',
        spread: one(afterCommit.peakMib),
        unit: 'MiB',
        target: { kind: 'at most', value: 500 },
        absolute: `${round((count / time.totalMs) * 1_000)} products/s, commit ${round(time.commitMs / 1_000)} s`,
      },
      {
        name: 'greatest until the last batch, of until the tenth',
        spread: one(afterAll.peakMib / afterTen.peakMib),
        unit: '×',
        target: { kind: 'at most', value: 1.2 },
        absolute: `${round(afterAll.peakMib)} and ${round(afterTen.peakMib)} MiB`,
      },
    ];
  },
};
