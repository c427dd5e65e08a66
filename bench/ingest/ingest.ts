import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { type IngestRound, measureIngest } from './ingest-rounds.ts';

/** The speed of a full update over HTTP, compared to the maximum of the machine. */
export const ingest: Measurement = {
  name: 'ingest',
  title: 'Full update into an empty catalog',
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
  const rate = (ms: readonly number[]) => round((count / spreadOf(ms).median) * 1_000);
  const perProduct = (ms: readonly number[]) => round((spreadOf(ms).median / count) * 1_000);
  const list = (kind: keyof IngestRound) => rounds.map((one) => one[kind]);
  return [
    {
      name: `${name}: products/s, of JSON.parse plus bare inserts`,
      spread: spreadOf(rounds.map(({ raw, first }) => raw / first)),
      unit: '×',
      target: { kind: 'at least', value: 0.8 },
      absolute: `${rate(list('first'))} of ${rate(list('raw'))} products/s`,
    },
    {
      name: `${name}: products/s, of the one-day baseline`,
      spread: spreadOf(rounds.map(({ baseline, first }) => baseline / first)),
      unit: '×',
      target: { kind: 'at least', value: 1.2 },
      absolute: `${rate(list('first'))} of ${rate(list('baseline'))} products/s`,
    },
    {
      name: `${name}: products/s with nothing changed, of JSON.parse plus bare inserts`,
      spread: spreadOf(rounds.map(({ raw, unchanged }) => raw / unchanged)),
      unit: '×',
      target: { kind: 'at least', value: 1.1 },
      absolute: `${rate(list('unchanged'))} of ${rate(list('raw'))} products/s`,
    },
    {
      name: `${name}: processor time of all threads, of JSON.parse plus bare inserts`,
      spread: spreadOf(rounds.map(({ rawCpu, firstCpu }) => firstCpu / rawCpu)),
      unit: '×',
      absolute: `${perProduct(list('firstCpu'))} and ${perProduct(list('rawCpu'))} µs a product`,
    },
    {
      name: `${name}: share of the commit in the whole`,
      spread: spreadOf(rounds.map(({ commit, first }) => commit / first)),
      unit: '×',
      absolute: `tidying up afterwards: ${round(spreadOf(list('tidying')).median)} ms`,
    },
    ...compareWithFirst(name, rounds),
  ];
}

/** The service starts with the first round. Later rounds find warm threads and compiled code. */
function compareWithFirst(name: string, [fresh, ...warm]: readonly IngestRound[]): Figure[] {
  if (fresh === undefined || warm.length === 0) return [];
  const times = warm.map(({ first }) => first);
  return [
    {
      name: `${name}: time in a fresh process, of that in a warm one`,
      spread: spreadOf(times.map((time) => fresh.first / time)),
      unit: '×',
      target: { kind: 'at most', value: 1.3 },
      absolute: `${round(fresh.first)} and ${round(spreadOf(times).median)} ms`,
    },
    {
      name: `${name}: greatest resident memory of a fresh process, commit included`,
      spread: spreadOf([fresh.firstPeak]),
      unit: 'MiB',
      target: { kind: 'at most', value: 400 },
    },
  ];
}
