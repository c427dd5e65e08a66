import { launchBrowser } from '../../console/test/browser.ts';
import { signInByKey } from '../../console/test/people.ts';
import { openRealCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { spreadOf } from '../support/statistics.ts';

type Browser = Awaited<ReturnType<typeof launchBrowser>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

/** The longest that a first visit may take, in milliseconds. */
const VISIT_MS = 500;
/** A longer task of the page delays typing. */
const TASK_MS = 50;
/** A view without changes for this long is complete, in milliseconds. */
const STEADY_MS = 200;
/** Time limit for a view. */
const MOST_MS = 60_000;
/** The text typed into the search, one letter at a time, at the speed of people. */
const TYPED = { text: 'radiator 240', delayMs: 80 };

/** Views by name: the end of their address after the project, and a selector of their main content. */
const VIEWS: Readonly<Record<string, readonly [path: string, shown: string]>> = {
  overview: ['', '.app-shell main h1'],
  products: ['/products', 'main a.named'],
  product: ['/products/:identifier', 'main h1'],
  'products found': ['/products?q=corsair', 'main a.named'],
  ontology: ['/ontology', 'main tbody tr'],
  relations: ['/relations', 'main h1'],
  'new relation': ['/relations/new', 'main h1'],
  'does it fit': ['/fit', 'main h1'],
  suggestions: ['/suggestions', 'main h1'],
  import: ['/import', 'main h1'],
  pipelines: ['/pipelines', 'main h1'],
  'new pipeline': ['/pipelines/new', 'main h1'],
  channels: ['/channels', 'main h1'],
  'new channel': ['/channels/new', 'main h1'],
  updates: ['/updates', 'main h1'],
  events: ['/events', 'main h1'],
  'API access': ['/api-access', 'main h1'],
  settings: ['/settings', 'main h1'],
};

/** Used by functions that run in the page, because the benchmarks themselves are compiled for Node. */
declare const document: {
  querySelector(selector: string): unknown;
  readonly body: { readonly textContent: string };
};
declare const location: { hash: string };
declare const requestAnimationFrame: (then: () => void) => void;
declare const PerformanceObserver: new (
  see: (list: { getEntries(): { duration: number }[] }) => void,
) => { observe(what: { type: 'longtask' }): void };

/** The time until each console view is complete on the first visit, in a browser, with a whole catalog. */
export const views: Measurement = {
  name: 'views',
  title: 'First visits of the views of the console, and typing',
  async measure(bench: Bench): Promise<Figure[]> {
    const catalog = await openRealCatalog(bench);
    const service = await bench.startService('views');
    const browser = await launchBrowser();
    try {
      const times = new Map<string, number[]>();
      const tasks: number[] = [];
      for (let at = 1; at <= bench.sizes.rounds; at += 1) {
        bench.say(`${catalog.name}: views, round ${at}`);
        const projectId = await service.createProject(`Views ${at}`);
        await runFullUpdate(service, projectId, { bodies: catalog.bodies });
        await waitUntilQuiet(service.pid);
        const page = await enter(browser, service);
        for (const [name, [path, shown]] of Object.entries(VIEWS)) {
          const address = `#/projects/${projectId}${path.replace(':identifier', encodeURIComponent(catalog.identifiers[0] ?? ''))}`;
          const ms = await visit(page, address, shown);
          times.set(name, [...(times.get(name) ?? []), ms]);
        }
        tasks.push(await typeWords(page, projectId));
        await page.context().close();
      }
      return [
        ...[...times].map(([name, all]) => describeVisit(catalog.name, name, all)),
        describeTyping(tasks),
      ];
    } finally {
      await browser.close();
      await service.stop();
    }
  },
};

async function enter(browser: Browser, service: BenchService): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1360, height: 900 } })).newPage();
  await page.goto(`${service.address}/console/`);
  await signInByKey(page, service.key);
  return page;
}

/** @returns the milliseconds until the main content is shown and nothing is loading, even shortly afterwards */
function visit(page: Page, address: string, shown: string): Promise<number> {
  return page.evaluate(
    async ({ to, selector, steadyMs, mostMs }) => {
      const begun = performance.now();
      const isThere = () =>
        document.querySelector(selector) !== null &&
        document.querySelector('[aria-busy=true]') === null &&
        !/Loading …|Counting …/.test(document.body.textContent);
      location.hash = to;
      let shownAt: number | undefined;
      let now = begun;
      while (now - (shownAt ?? now) < steadyMs && now - begun < mostMs) {
        await new Promise<void>((resolve) => requestAnimationFrame(resolve));
        now = performance.now();
        shownAt = isThere() ? (shownAt ?? now) : undefined;
      }
      return (shownAt ?? now) - begun;
    },
    { to: address, selector: shown, steadyMs: STEADY_MS, mostMs: MOST_MS },
  );
}

/** @returns the longest task of the page during typing in the product search, in milliseconds */
async function typeWords(page: Page, projectId: number): Promise<number> {
  await visit(page, `#/projects/${projectId}/products`, 'main h1');
  await page.evaluate(() => {
    const seen = { longestMs: 0 };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.longestMs = Math.max(seen.longestMs, duration);
    }).observe({ type: 'longtask' });
  });
  await page.getByLabel('Search', { exact: true }).pressSequentially(TYPED.text, { delay: TYPED.delayMs });
  await page.waitForTimeout(1_000);
  return page.evaluate(
    () => (globalThis as typeof globalThis & { seen: { longestMs: number } }).seen.longestMs,
  );
}

const describeVisit = (catalog: string, name: string, times: readonly number[]): Figure => ({
  name: `${catalog}: first visit of ${name}`,
  spread: spreadOf(times),
  unit: 'ms',
  target: { kind: 'at most', value: VISIT_MS },
});

const describeTyping = (tasks: readonly number[]): Figure => ({
  name: 'longest task of the page over 50 ms while a search is typed (0: none)',
  spread: spreadOf(tasks),
  unit: 'ms',
  target: { kind: 'at most', value: TASK_MS },
});
