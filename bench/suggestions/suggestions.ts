import { readShops } from '../../server/test/support/suggestion-shops.ts';
import {
  plantRelations,
  readDemoShop,
  readLensfun,
  scoreSuggestions,
} from '../../server/test/support/suggestion-truth.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { spreadOf } from '../support/statistics.ts';

/** Published results of finding foreign keys in the data of 72 databases: Motl and Kordik, 2017. */
const F1 = 0.87;
const PRECISION = 0.95;
const PLANTED = [1, 2, 3, 4, 5];

/** The share of a catalog's known relations that are suggested, and the share of suggestions that are true. */
export const suggestions: Measurement = {
  name: 'suggestions',
  title: 'Relations suggested by the data alone, against what is known of the catalogs',
  async describeConditions() {
    return readLensfun() === undefined ? 'Without lensfun, which is not in RELATA_TEST_DATA.' : '';
  },
  async measure(bench: Bench): Promise<Figure[]> {
    const catalogs = [readLensfun() ?? [], readDemoShop(), readShops(), PLANTED.map(plantRelations)].flat(2);
    const scores = catalogs.map((catalog) => {
      const score = scoreSuggestions(catalog);
      const missed = score.missed.map(
        ({ categories, match }) => `${categories.join(' and ')} by ${match.join(' ')}`,
      );
      bench.say(
        `${catalog.name}: missed ${missed.join('; ') || 'none'}; wrong ${score.wrong.join('; ') || 'none'}`,
      );
      return { name: catalog.name, ...score };
    });
    const groups = Map.groupBy(scores, ({ name }) => name.replace(/ \d+$/, ''));
    return [...groups].flatMap(([name, ofGroup]): Figure[] => [
      {
        name: `${name}: F1 of the suggested relations`,
        unit: 'of 1',
        spread: spreadOf(ofGroup.map(({ f1 }) => f1)),
        target: { kind: 'at least', value: F1 },
      },
      {
        name: `${name}: of the suggested relations, those that are true`,
        unit: 'of 1',
        spread: spreadOf(ofGroup.map(({ precision }) => precision)),
        target: { kind: 'at least', value: PRECISION },
      },
    ]);
  },
};
