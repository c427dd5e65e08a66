import type { Relata } from '@relata/client';
import type { Page } from 'playwright-core';

export interface View {
  readonly name: string;
  readonly address: string;
  /** What is there when the view is. */
  readonly heading: string | RegExp;
  /** What is opened on it. */
  open?(page: Page): Promise<void>;
}

/** Before one is in. */
export const OPEN_VIEWS: readonly View[] = [
  { name: 'sign-in', address: '#/', heading: 'Sign in to Relata' },
  { name: 'welcome', address: '#/welcome/token', heading: 'Welcome to Relata' },
  { name: 'invitation', address: '#/invitation/token', heading: 'Join Relata' },
];

/** Every view of somebody who is in, with a project that has products. */
export async function listViews(relata: Relata, projectId: number): Promise<readonly View[]> {
  const project = `#/projects/${projectId}`;
  const [[product], [relation], { tasks }] = await Promise.all([
    relata.products.list(projectId, { limit: 1 }).then(({ items }) => items),
    relata.relations.list(projectId),
    relata.tasks.list({ projectId, limit: 100 }),
  ]);
  const update = tasks.find(({ name }) => name === 'Api triggered full update');
  return [
    { name: 'overview', address: '#/', heading: 'Overview' },
    { name: 'projects', address: '#/projects', heading: 'Projects' },
    { name: 'project-new', address: '#/projects/new', heading: 'New project' },
    { name: 'audit-log', address: '#/audit-log', heading: 'Audit log' },
    { name: 'project', address: project, heading: /./ },
    { name: 'products', address: `${project}/products`, heading: 'Products' },
    {
      name: 'product',
      address: `${project}/products/${encodeURIComponent(product?.identifier ?? '')}`,
      heading: product?.name ?? '',
    },
    { name: 'ontology', address: `${project}/ontology`, heading: 'Ontology' },
    {
      name: 'attribute',
      address: `${project}/ontology`,
      heading: 'Ontology',
      open: (page) => page.getByRole('button', { name: 'Price', exact: true }).click(),
    },
    { name: 'relations', address: `${project}/relations`, heading: 'Relations' },
    {
      name: 'relation',
      address: `${project}/relations/${relation?.id}`,
      heading: relation?.name ?? '',
      open: (page) => page.getByText('lead to something').waitFor(),
    },
    { name: 'relation-new', address: `${project}/relations/new`, heading: 'New relation' },
    { name: 'pipelines', address: `${project}/pipelines`, heading: 'Pipelines' },
    { name: 'updates', address: `${project}/updates`, heading: 'Updates' },
    { name: 'update', address: `${project}/updates/${update?.id}`, heading: 'Full update' },
    { name: 'api-access', address: `${project}/api-access`, heading: 'API access' },
    {
      name: 'api-key-new',
      address: `${project}/api-access`,
      heading: 'API access',
      open: (page) => page.getByRole('button', { name: 'New key' }).click(),
    },
    { name: 'settings', address: `${project}/settings`, heading: 'Settings' },
  ];
}

/** Goes there and waits until everything has come. */
export async function showView(page: Page, { address, heading, open }: View): Promise<void> {
  await page.keyboard.press('Escape');
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
  const isText = typeof heading === 'string';
  await page.getByRole('heading', { name: heading, exact: isText }).first().waitFor();
  await page.waitForLoadState('networkidle');
  await open?.(page);
  await page.waitForFunction(() => !/Loading …|Counting …/.test(document.body.textContent ?? ''));
}
