import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { type IngestRound, measureIngest } from './ingest-rounds.ts';

/** The cost of a full update with few changes, as in the nightly case. */
export const repeat: Measurement = {
  name: 'repeat',
  title: 'The same full update again',
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const open of [openRealCatalog, openSyntheticCatalog]) {
      const catalog = await open(bench);
      figures.push(...toFigures(catalog, await measureIngest(bench, catalog)));
    }
    return figures;
  },
};

function toFigures({ name, count }: BenchCatalog, rounds: readonly IngestRound[]): Figure[] {
  const rate = (kind: keyof IngestRound) =>
    round((count / spreadOf(rounds.map((one) => one[kind])).median) * 1_000);
  return [
    {
      name: `${name}: products/s with nothing changed, of the first time`,
      spread: spreadOf(rounds.map(({ first, unchanged }) => first / unchanged)),
      unit: '×',
      target: { kind: 'at least', value: 1.5 },
      absolute: `${rate('unchanged')} of ${rate('first')} products/s`,
    },
    {
      name: `${name}: time with 1 % changed, of nothing changed`,
      spread: spreadOf(rounds.map(({ unchanged, changed }) => changed / unchanged)),
      unit: '×',
      target: { kind: 'at most', value: 1.1 },
      absolute: `${rate('changed')} of ${rate('unchanged')} products/s`,
    },
  ];
}
