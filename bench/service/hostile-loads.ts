import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Attack, HostileLoad, Sent } from './attack.ts';
import { CHANNEL_LOADS } from './channel-loads.ts';
import { loadFatProducts } from './fat-products.ts';
import { QUESTION_LOADS } from './question-loads.ts';
import { together } from './together.ts';

const MIB = 1024 * 1024;
const HEALTH_MS = 20_000;
/** In addition to the 256 that the service reserves for files. */
const OPEN_FILES = 1_024;
const HELD_CONNECTIONS = 768;
const ANONYMOUS_AT_ONCE = 64;

/** The longest identifier, 255 characters, takes 3,060 bytes if each is written as two JSON escapes. */
const LONGEST_IDENTIFIER = '\\ud83d\\ude00'.repeat(250);

/** @param size  number of identifiers of maximum length, or MiB. @returns a small body that unpacks to megabytes */
function bomb(filling: 'identifiers' | 'space' | 'texts', size: number): Promise<Buffer> {
  const text = `"${'x'.repeat(85)}",`;
  const makers = {
    identifiers: () =>
      Array.from({ length: size }, (_, at) => `"${LONGEST_IDENTIFIER}${String(at).padStart(5, '0')}"`).join(),
    space: () => `${' '.repeat(size * MIB - 32)}"x"`,
    texts: () => `${text.repeat((size * MIB - 32) / text.length)}"x"`,
  };
  return promisify(gzip)(Buffer.from(`{"identifiers":[${makers[filling]()}]}`), { level: 9 });
}

/** The limits of a delete and a lookup, 29 and 2.9 MiB. Source: docs/interface §8. */
const DELETED = 10_000;
const LOOKED_UP = 1_000;

/**
 * Bodies of the size limit of a delete. They are read, checked and searched, and then refused because no product has
 * such an identifier.
 */
const deleteBodies = () => Promise.all([bomb('identifiers', DELETED), bomb('space', 29)]);

const post = (path: string, bodies: readonly Buffer[]): Sent[] =>
  bodies.map((body) => ({ path, method: 'POST', body }));

const deletePath = ({ projectId }: Attack) => `/products/delete?projectId=${projectId}`;

const LONG_PRODUCTS = 100;
/** 100 products of 1.95 MB each. @param word  the words that make up a product's values */
const loadLongProducts = ({ service, projectId }: Attack, word?: (at: number) => string) =>
  loadFatProducts({ service, projectId, count: LONG_PRODUCTS, values: 30, ...(word && { word }) });

/** With these products, an answer has 31.2 MB, just below the limit of 32 MiB. Source: docs/interface §8. */
const MOST_LOOKED_UP = 16;
const lookUpLong = ({ projectId }: Attack, count: number): string => {
  const identifiers = JSON.stringify(Array.from({ length: count }, (_, at) => `long-${at}`));
  return `/product-service/products-by-sku?projectId=${projectId}&identifiers=${encodeURIComponent(identifiers)}`;
};

const listLong = ({ projectId }: Attack) =>
  `/management/projects/${projectId}/products?limit=${LONG_PRODUCTS}`;

interface LongAnswers {
  readonly name: string;
  readonly title: string;
  readonly path: (attack: Attack) => string;
  readonly encoding?: string;
  readonly atOnce?: number;
}

const longAnswers = ({ name, title, path, encoding = 'identity', atOnce = 1 }: LongAnswers): HostileLoad => ({
  name: `answers-${name}`,
  title,
  prepare: (attack) => loadLongProducts(attack),
  run: (attack) => attack.repeat(atOnce, [{ path: path(attack), encoding }]),
});

/** Makes each word of a catalog unique. */
const ownWord = (at: number) => `w${(at * 7_919).toString(36)}`;

const searchPath = ({ projectId }: Attack, words: string) =>
  `/search/products?projectId=${projectId}&q=${encodeURIComponent(words)}`;

const anonymous = (name: string, title: string, path: string): HostileLoad => ({
  name: `anonymous-${name}`,
  title: `${title}, without a key over ${ANONYMOUS_AT_ONCE} connections`,
  run: (attack) =>
    attack.repeat(
      ANONYMOUS_AT_ONCE,
      ['zstd', 'br', 'gzip'].map((encoding) => ({ path, encoding, key: null })),
    ),
});

interface PackedBodies extends Pick<HostileLoad, 'name' | 'title'> {
  make(): Promise<Buffer[]>;
  run(attack: Attack, bodies: readonly Buffer[]): Promise<void>;
}

/** Bodies are compressed before the measurement, because compression takes a second on both cores. */
function packedBodies({ make, run, ...load }: PackedBodies): HostileLoad {
  let bodies: readonly Buffer[] = [];
  return {
    ...load,
    async prepare() {
      bodies = await make();
    },
    run: (attack) => run(attack, bodies),
  };
}

const SINGLE_LOADS: readonly HostileLoad[] = [
  packedBodies({
    name: 'deletes',
    title: '100 deletes of 10,000 identifiers at once, small bodies that unpack to 29 MiB',
    make: async () => [await bomb('identifiers', DELETED)],
    async run(attack, bodies) {
      const sent = post(deletePath(attack), bodies);
      await Promise.all(Array.from({ length: 100 }, () => sent.map((one) => attack.send(one))).flat());
    },
  }),
  packedBodies({
    name: 'bodies-one',
    title: 'deletes that unpack to 29 MiB, one after another',
    make: deleteBodies,
    run: (attack, bodies) => attack.repeat(1, post(deletePath(attack), bodies)),
  }),
  packedBodies({
    name: 'bodies-20',
    title: 'deletes that unpack to 29 MiB, 20 at once',
    make: deleteBodies,
    run: (attack, bodies) => attack.repeat(20, post(deletePath(attack), bodies)),
  }),
  packedBodies({
    name: 'bodies-large',
    title: 'deletes that unpack to 32 MiB, which is too much, 20 at once',
    make: async () => [await bomb('space', 32)],
    run: (attack, bodies) => attack.repeat(20, post(deletePath(attack), bodies)),
  }),
  packedBodies({
    name: 'bodies-lookups',
    title: 'lookups of a key that may only read, small bodies that unpack to 2.9 MiB, 20 at once',
    make: async () => [await bomb('identifiers', LOOKED_UP), await bomb('space', 2.9)],
    run: (attack, bodies) => {
      const path = `/product-service/products-by-sku?projectId=${attack.projectId}`;
      return attack.repeat(
        20,
        post(path, bodies).map((one) => ({ ...one, key: attack.readKey })),
      );
    },
  }),
  packedBodies({
    name: 'bodies-previews',
    title: 'previews of a pipeline and of relations, of 8 KB that unpack to 8 MiB, 20 at once',
    make: async () => [await bomb('texts', 8), await bomb('space', 8)],
    run: (attack, bodies) => {
      const paths = ['pipelines', 'relations'].map(
        (of) => `/management/projects/${attack.projectId}/${of}/preview`,
      );
      return attack.repeat(
        20,
        paths.flatMap((path) => post(path, bodies)),
      );
    },
  }),
  ...['identity', 'zstd', 'br'].map((encoding) =>
    longAnswers({
      name: encoding,
      title: `one lookup of 16 products of 1.95 MB after another, ${encoding}`,
      path: (attack) => lookUpLong(attack, MOST_LOOKED_UP),
      encoding,
    }),
  ),
  longAnswers({
    name: 'refused',
    title: 'one lookup of 100 products of 1.95 MB, which is too much, after another',
    path: (attack) => lookUpLong(attack, LONG_PRODUCTS),
  }),
  longAnswers({
    name: '10mb',
    title: 'one lookup of 5 products of 1.95 MB after another, br',
    encoding: 'br',
    path: (attack) => lookUpLong(attack, 5),
  }),
  longAnswers({ name: 'list', title: 'one list of 100 products of 1.95 MB after another', path: listLong }),
  longAnswers({
    name: '8',
    title: 'lookups of 16 products of 1.95 MB, 8 at once',
    atOnce: 8,
    path: (attack) => lookUpLong(attack, MOST_LOOKED_UP),
  }),
  {
    name: 'connections',
    title: `${HELD_CONNECTIONS} connections without a key that ask GET /health/live every ${HEALTH_MS / 1_000} s`,
    settings: { BENCH_OPEN_FILES: String(OPEN_FILES) },
    async begin(attack) {
      for (let at = 0; at < HELD_CONNECTIONS; at += 1) void attack.hold(HEALTH_MS);
      await pause(2_000);
    },
    run: () => pause(HEALTH_MS + 5_000),
  },
  {
    name: 'search',
    title: 'searches of 100 products of 2 MB, 4 at once, beside searches',
    victim: 'search',
    async prepare(attack) {
      await loadLongProducts(attack, ownWord);
      await attack.waitForSearch('product');
    },
    run: (attack) =>
      attack.repeat(
        4,
        ['long product', ownWord(9), 'w', 'product w1'].map((words) => ({ path: searchPath(attack, words) })),
      ),
  },
  {
    name: 'search-first',
    title: 'the first searches of 100 products of 2 MB, beside searches',
    victim: 'search',
    prepare: (attack) => loadLongProducts(attack, ownWord),
    // Until the index is complete, each search reads a part of the catalog.
    run: (attack) => attack.repeat(1, [{ path: searchPath(attack, 'product') }]),
  },
  anonymous('openapi', '/openapi.json', '/openapi.json'),
  anonymous('docs', '/docs/api', '/docs/api'),
  anonymous('404', '404s with addresses of 8 KB', `/nowhere/${'long/'.repeat(1_600)}`),
  anonymous('404-80k', '404s with addresses of 80 KB', `/nowhere/${'long/'.repeat(16_000)}`),
  anonymous('404-escapes', '404s with addresses of 80 KB of escapes', `/nowhere/${'%25/'.repeat(20_000)}`),
  anonymous('404-query', '404s with queries of 80 KB of spaces', `/nowhere?${'+'.repeat(80_000)}`),
  anonymous('query', 'addresses of 60,000 parameters', `/health/live?${'a&'.repeat(60_000)}`),
  anonymous('health', '/health/live', '/health/live'),
  ...CHANNEL_LOADS,
  ...QUESTION_LOADS,
];

export const HOSTILE_LOADS: readonly HostileLoad[] = [...SINGLE_LOADS, together(SINGLE_LOADS)];
