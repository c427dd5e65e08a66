import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, type TestContext } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { signInByKey } from './people.ts';
import { type Service, startService } from './service.ts';

export interface Console {
  readonly service: Service;
  /** A page in a separate browser context: no cookies, nothing stored. */
  open(address?: string, options?: BrowserContextOptions): Promise<Page>;
  /** A page whose user has signed in with the account key. */
  enter(address?: string, options?: BrowserContextOptions): Promise<Page>;
}

/** The longest that any step on a page may take on a busy machine. */
const PATIENCE_MS = 60_000;

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());
let started: Promise<Service> | undefined;
after(async () => (await started)?.stop());

/**
 * A service for one test, the browser of the file, and pages that must not throw errors or violate their
 * policy.
 */
export async function startConsole(
  t: TestContext,
  settings: Record<string, string> = {},
  command: 'serve' | 'demo' = 'serve',
): Promise<Console> {
  const service = await startService({ command, settings });
  t.after(service.stop);
  return openConsole(t, service);
}

/**
 * The same with the service of the file, for tests that use a project of their own, because a start takes
 * seconds.
 */
export async function shareConsole(t: TestContext): Promise<Console> {
  started ??= startService();
  return openConsole(t, await started);
}

async function openConsole(t: TestContext, service: Service): Promise<Console> {
  launched ??= launchBrowser();
  const browser = await launched;
  const contexts: BrowserContext[] = [];
  const problems: string[] = [];
  t.after(async () => {
    for (const context of contexts) await context.close();
    assert.deepEqual(problems, [], 'no page threw an error or violated its policy');
  });

  async function open(address = '#/', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    contexts.push(context);
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (/Content.Security.Policy|Trusted/i.test(message.text())) problems.push(message.text());
    });
    await page.goto(`${service.url}/console/${address}`);
    return page;
  }

  return {
    service,
    open,
    async enter(address, options) {
      const page = await open(address, options);
      await signInByKey(page, service.key);
      return page;
    },
  };
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/**
 * The checks of axe that depend on colours. All other checks read the document, which is the same in light and
 * in dark.
 */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * @returns the violations of WCAG 2.2 AA and of best practices that axe finds, or of some of its rules, one
 * line each
 */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  await injectAxe(page);
  const violations = await page.evaluate(async (values) => {
    const { axe } = globalThis as typeof globalThis & {
      axe: { run(options: object): Promise<{ violations: Violation[] }> };
    };
    return (await axe.run(values === undefined ? {} : { runOnly: { type: 'rule', values } })).violations;
  }, rules);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}

/**
 * The policy of the page allows no injected script, but the debugger of the browser can inject one. The script
 * stays in the page from view to view.
 */
async function injectAxe(page: Page): Promise<void> {
  if (await page.evaluate(() => 'axe' in globalThis)) return;
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: readFileSync(AXE, 'utf8') });
  await session.detach();
}

/**
 * A project with the example products of the console.
 * @returns its id
 */
export async function makeExampleProject({ relata }: Service, name = 'Hardware store DE'): Promise<number> {
  const { loadExample } = await import('../src/state/example.ts');
  const group = await relata.projects.createGroup(name);
  const project = await relata.projects.create({ name, projectGroupId: group.id, locale: 'de-DE' });
  await loadExample(relata, project.id);
  await untilBuilt(relata, project.id);
  return project.id;
}

/** A pipeline that has run once. */
export async function makeExamplePipeline({ relata }: Service, projectId: number): Promise<void> {
  const { id: pipelineId } = await relata.pipelines.create(projectId, {
    name: 'Prices from the ERP',
    source: { type: 'upload' },
    format: { type: 'csv' },
    mapping: { identifier: 'sku', name: 'title', attributes: '*' },
    mode: 'incremental',
    trigger: { type: 'webhook' },
    onRejectedRow: 'continue',
  });
  const file = new Blob(['sku;title;price\nSAW-1;Jigsaw;129,00\nSAW-2;;99,00\n']);
  const task = await relata.pipelines.upload({ projectId, pipelineId }, file, { name: 'prices.csv' });
  await relata.tasks.wait(task.id);
}

export async function untilBuilt(relata: Service['relata'], projectId: number): Promise<void> {
  const { tasks } = await relata.tasks.list({ projectId, limit: 100 });
  for (const { id } of tasks) await relata.tasks.wait(id);
}
