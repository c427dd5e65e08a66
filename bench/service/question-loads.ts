import { setTimeout as pause } from 'node:timers/promises';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describeBatch } from '../support/synthetic-products.ts';
import { type Attack, type HostileLoad, LONGEST_MS } from './attack.ts';

/** Loads of a few small requests, each of which makes much work for a thread. */

const SHARED_CATEGORY = 'Shared';
const ATTRIBUTES = ['A0', 'A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7'] as const;
const PRODUCTS_PER_BODY = 10_000;
/** 10,000 products of a full run. */
const BATCH_SHARE = 100;
const LONGEST_COMMIT_MS = LONGEST_MS - 5_000;
/** The share of the million; 20,000 products of a full run. */
const SHARE_OF_MILLION = 50;
const CONSTRAINTS = 40;
/**
 * Ordered pairs of so many products with 40 constraints stay below the limit of 20,000. Source: docs/interface §12.10
 * rule 7.
 */
const FIT_ITEMS = 22;
const HANG_UP_MS = 3_000;
const TOTALS = 450;
const TOTAL_ITEMS = 100;
const WORDS_OF_QUESTION = 16;
const WORDS_PER_PRODUCT = 1_000;
/** Another account makes a request after the load. Its wait ends after this time. */
const LONGEST_AFTER_MS = 45_000;

const identifierAt = (at: number) => `p${at}`;

/** Products of one category with the same values, so no comparison of two products ends early. */
function* describeEqualProducts(count: number) {
  const attributes = [...ATTRIBUTES, 'Price'].map((key) => ({ key, value: '1' }));
  for (let from = 0; from < count; from += PRODUCTS_PER_BODY) {
    const length = Math.min(PRODUCTS_PER_BODY, count - from);
    const products = Array.from({ length }, (_, at) => ({
      identifier: identifierAt(from + at),
      name: `Product ${from + at}`,
      categories: [{ path: [SHARED_CATEGORY] }],
      attributes,
    }));
    yield Buffer.from(JSON.stringify({ products }));
  }
}

const EVERY = { source: { all: [] }, target: { all: [] } };

/** All constraints except the last hold for each pair, and the last one fails, so each product needs an alternative. */
const describeConstraints = () =>
  Array.from({ length: CONSTRAINTS }, (_, at) => ({
    name: `Constraint ${at}`,
    tag: 'fits',
    constraint: true,
    ...EVERY,
    match: ATTRIBUTES.map((name, place) => ({
      target: name,
      operator: at === CONSTRAINTS - 1 && place === ATTRIBUTES.length - 1 ? 'less' : 'lessOrEqual',
      source: name,
    })),
  }));

const describeTotals = () =>
  Array.from({ length: TOTALS }, (_, at) => ({
    kind: 'total',
    name: `Total ${at}`,
    tag: 'totals',
    ...EVERY,
    total: { attribute: 'Price', plus: at },
    operator: 'lessOrEqual',
    limit: { attribute: 'A0' },
  }));

async function typeNumbers({ service, projectId }: Attack): Promise<void> {
  const path = `/management/projects/${projectId}/ontology`;
  const ontology = await service.succeed<{ attributes: { name: string }[] }>('GET', path);
  const attributes = ontology.attributes.map((one) => ({ ...one, type: 'NUMERIC_ATTRIBUTE' }));
  await service.succeed('PUT', path, { ...ontology, attributes });
}

async function loadEqualProducts(attack: Attack, count: number, relations: readonly object[]): Promise<void> {
  const { service, projectId } = attack;
  await runFullUpdate(service, projectId, { bodies: describeEqualProducts(count) });
  await typeNumbers(attack);
  await service.succeed('POST', `/management/projects/${projectId}/relations/import`, { relations });
}

const items = (count: number) => Array.from({ length: count }, (_, at) => ({ identifier: identifierAt(at) }));

const fitPath = ({ projectId }: Attack) => `/search/relations/fit?projectId=${projectId}`;

/** Measures how long a preview of another account waits right after the load. */
async function previewAfter({ figures, order }: Attack): Promise<void> {
  const { client, projectId } = order.victim;
  const match = [{ target: 'Brand', operator: 'equals', source: 'Brand' }];
  const path = `/management/projects/${projectId}/relations/preview`;
  const begun = performance.now();
  const { status, text } = await Promise.race([
    client.call('POST', path, { name: 'Same brand', tag: 'same', ...EVERY, match }),
    pause(LONGEST_AFTER_MS, { status: 0, text: '' }, { ref: false }),
  ]);
  figures.push({
    name: 'the same: a preview of another account right afterwards',
    spread: spreadOf([status === 200 ? performance.now() - begun : LONGEST_AFTER_MS]),
    unit: 'ms',
    target: { kind: 'at most', value: 5_000 },
    absolute: status === 200 ? 'answered' : `${status || 'no answer'} ${text.slice(0, 300)}`,
  });
}

/** Only letters, because words with digits have no typing errors. All begin with the same letter. */
function wordOf(at: number): string {
  let text = '';
  // The factor and the modulus have no common divisor, so each number has another word.
  for (let left = (at * 7_368_787) % 26 ** 8, digits = 0; digits < 8; digits += 1) {
    text += String.fromCharCode(97 + (left % 26));
    left = Math.floor(left / 26);
  }
  return `w${text}`;
}

/** Two errors, the maximum that is forgiven. */
const misspell = (word: string) => `${word.slice(0, 3)}${word[4]}${word[3]}${word.slice(5, -1)}`;

/** BENCH_WORDS sets the size of the vocabulary. */
const countWords = ({ million }: { million: number }) => Number(process.env.BENCH_WORDS ?? million * 1.25);

function* describeVocabulary(words: number) {
  const perBody = 100;
  const products = Math.ceil(words / WORDS_PER_PRODUCT);
  for (let from = 0; from < products; from += perBody) {
    const length = Math.min(perBody, products - from);
    const body = Array.from({ length }, (_, at) => {
      const first = (from + at) * WORDS_PER_PRODUCT;
      const value = Array.from({ length: WORDS_PER_PRODUCT }, (__, word) => wordOf(first + word)).join(' ');
      const attributes = [{ key: 'Text', value }];
      return { identifier: identifierAt(from + at), name: `Product ${from + at}`, attributes };
    });
    yield Buffer.from(JSON.stringify({ products: body }));
  }
}

const misspeltPath = ({ projectId, order }: Attack, question: number) => {
  const step = Math.floor(countWords(order) / WORDS_OF_QUESTION);
  const words = Array.from({ length: WORDS_OF_QUESTION }, (_, at) => misspell(wordOf(at * step + question)));
  return `/search/products?projectId=${projectId}&q=${encodeURIComponent(words.join(' '))}`;
};

/** @returns the duration in ms of a commit that changes each product, and whose one batch is uploaded so many times */
async function commitBatch(
  { service, projectId, order }: Attack,
  { version, times }: { version: number; times: number },
): Promise<number> {
  const body = describeBatch({ from: 0, count: order.million / BATCH_SHARE, version, every: 1 });
  const bodies = Array.from({ length: times }, () => body);
  return (await runFullUpdate(service, projectId, { bodies })).commitMs;
}

let onceMs = 0;

async function compareCommits(attack: Attack): Promise<void> {
  const late = pause(LONGEST_COMMIT_MS, LONGEST_COMMIT_MS, { ref: false });
  const twiceMs = await Promise.race([commitBatch(attack, { version: 3, times: 2 }), late]);
  attack.figures.push({
    name: 'the same: time of the commit, of one whose batch was sent once',
    spread: spreadOf([twiceMs / onceMs]),
    unit: '×',
    target: { kind: 'at most', value: 4 },
    absolute: `${round(twiceMs)} and ${round(onceMs)} ms`,
  });
}

export const QUESTION_LOADS: readonly HostileLoad[] = [
  {
    name: 'fit-alternatives',
    title: `fit of ${FIT_ITEMS} products with 10 alternatives and ${CONSTRAINTS} constraints in 20,000 products, one after another; the caller hangs up after ${HANG_UP_MS / 1_000} s`,
    prepare: (attack) =>
      loadEqualProducts(attack, attack.order.million / SHARE_OF_MILLION, describeConstraints()),
    run: async (attack) => {
      const json = { items: items(FIT_ITEMS), alternatives: 10 };
      await attack.repeat(1, [{ path: fitPath(attack), method: 'POST', json, hangUpMs: HANG_UP_MS }]);
      await previewAfter(attack);
    },
  },
  {
    name: 'fit-totals',
    title: `fit of ${TOTAL_ITEMS} products by ${TOTALS} totals, 4 KB, one after another`,
    prepare: (attack) => loadEqualProducts(attack, TOTAL_ITEMS, describeTotals()),
    run: (attack) =>
      attack.repeat(1, [{ path: fitPath(attack), method: 'POST', json: { items: items(TOTAL_ITEMS) } }]),
  },
  {
    name: 'search-misspelt',
    title: `searches of ${WORDS_OF_QUESTION} misspelt words over 1.25 million words, 4 at once, beside searches`,
    victim: 'search',
    async prepare(attack) {
      const { service, projectId, order } = attack;
      await runFullUpdate(service, projectId, { bodies: describeVocabulary(countWords(order)) });
      await attack.waitForSearch('product');
    },
    run: (attack) =>
      attack.repeat(
        4,
        Array.from({ length: 8 }, (_, at) => ({ path: misspeltPath(attack, at) })),
      ),
  },
  {
    name: 'batch-twice',
    title: 'the commit of a batch of 10,000 products that was sent twice',
    async prepare(attack) {
      await commitBatch(attack, { version: 1, times: 1 });
      onceMs = await commitBatch(attack, { version: 2, times: 1 });
    },
    run: compareCommits,
  },
];
