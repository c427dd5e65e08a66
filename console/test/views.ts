import type { Relata } from '@relata/client';
import type { Page } from 'playwright-core';

export interface View {
  readonly name: string;
  readonly address: string;
  /** Waits for something that is visible once the view is complete. */
  readonly heading: string | RegExp;
  /** Opens something on the view. */
  open?(page: Page): Promise<void>;
}

/** The views before sign-in. */
export const OPEN_VIEWS: readonly View[] = [
  { name: 'sign-in', address: '#/', heading: 'Sign in to Relata' },
  { name: 'welcome', address: '#/welcome/token', heading: 'Welcome to Relata' },
  { name: 'invitation', address: '#/invitation/token', heading: 'Join Relata' },
];

/** Every view of a signed-in owner, in a project with products. */
export async function listViews(relata: Relata, projectId: number): Promise<readonly View[]> {
  const project = `#/projects/${projectId}`;
  const [[product, other], [relation], { tasks }, pipelines, commits] = await Promise.all([
    relata.products.list(projectId, { limit: 2 }).then(({ items }) => items),
    relata.relations.list(projectId),
    relata.tasks.list({ projectId, limit: 100 }),
    relata.pipelines.list(projectId).then(({ items }) => items),
    relata.commits.list(projectId),
  ]);
  const endpoint = await findEndpoint(relata, projectId);
  const update = tasks.find(({ name }) => name === 'Api triggered full update');
  const webhook = pipelines.find(({ trigger }) => trigger.type === 'webhook');
  return [
    ...ACCOUNT_VIEWS,
    { name: 'project', address: project, heading: /./ },
    ...(product ? listProductViews(project, product) : []),
    ...(product && other ? listPairViews(project, product, other) : []),
    ...listOntologyViews(project),
    ...listRelationViews(project, relation),
    { name: 'import', address: `${project}/import`, heading: 'Import a file' },
    ...listPipelineViews(project, webhook),
    ...(await listChannelViews(relata, projectId)),
    ...listUpdateViews(project, { commit: commits.items[0]?.id, update: update?.id }),
    ...listEventViews(project, endpoint),
    ...listSettingViews(project),
  ];
}

const ACCOUNT_VIEWS: readonly View[] = [
  { name: 'start', address: '#/', heading: /./ },
  { name: 'operations', address: '#/operations', heading: 'Operations' },
  { name: 'projects', address: '#/projects', heading: 'Projects' },
  { name: 'project-new', address: '#/projects/new', heading: 'New project' },
  { name: 'account', address: '#/account', heading: 'Account' },
  { name: 'audit-log', address: '#/audit-log', heading: 'Audit log' },
];

/** Views of two products. */
const listPairViews = (
  project: string,
  { identifier: source }: Named,
  { identifier: target }: Named,
): readonly View[] => [
  {
    name: 'why',
    address: `${project}/why?source=${source}&target=${target}`,
    heading: 'Why, or why not?',
    open: (page) => page.getByText('What would have to change').first().waitFor(),
  },
  {
    name: 'fit',
    address: `${project}/fit?items=${encodeURIComponent(JSON.stringify([source, target]))}`,
    heading: 'Does it fit?',
    open: (page) => page.getByRole('heading', { name: 'Products', exact: true }).waitFor(),
  },
];

const listOntologyViews = (project: string): readonly View[] => [
  { name: 'ontology', address: `${project}/ontology`, heading: 'Attributes' },
  {
    name: 'attribute',
    address: `${project}/ontology`,
    heading: 'Attributes',
    open: (page) => page.getByRole('button', { name: 'Price', exact: true }).click(),
  },
];

type Defined = { readonly id: number; readonly name: string } | undefined;

const listRelationViews = (project: string, relation: Defined): readonly View[] => [
  { name: 'relations', address: `${project}/relations`, heading: 'Relations' },
  {
    name: 'relation',
    address: `${project}/relations/${relation?.id}`,
    heading: relation?.name ?? '',
    open: (page) => page.getByText('have results').waitFor(),
  },
  { name: 'relation-new', address: `${project}/relations/new`, heading: 'New relation' },
  { name: 'suggestions', address: `${project}/suggestions`, heading: 'Suggestions' },
];

const listPipelineViews = (project: string, pipeline: Defined): readonly View[] => [
  { name: 'pipelines', address: `${project}/pipelines`, heading: 'Pipelines' },
  {
    name: 'pipeline',
    address: `${project}/pipelines/${pipeline?.id}`,
    heading: pipeline?.name ?? '',
    open: (page) => page.getByRole('heading', { name: 'Runs' }).waitFor(),
  },
  {
    name: 'pipeline-edit',
    address: `${project}/pipelines/${pipeline?.id}/edit`,
    heading: new RegExp(`${pipeline?.name}$`),
  },
  { name: 'pipeline-new', address: `${project}/pipelines/new`, heading: 'New pipeline', open: tryFile },
];

const listUpdateViews = (
  project: string,
  { commit, update }: { readonly commit: number | undefined; readonly update: string | undefined },
): readonly View[] => [
  { name: 'updates', address: `${project}/updates`, heading: 'Updates' },
  {
    name: 'commit',
    address: `${project}/updates?commit=${commit}`,
    heading: 'Updates',
    open: (page) => page.locator('summary').first().click(),
  },
  { name: 'update', address: `${project}/updates/${update}`, heading: 'Full update' },
];

const listEventViews = (project: string, endpoint: number | undefined): readonly View[] => [
  { name: 'events', address: `${project}/events`, heading: 'Events' },
  {
    name: 'endpoint-new',
    address: `${project}/events`,
    heading: 'Events',
    open: (page) => page.getByRole('button', { name: 'New endpoint' }).click(),
  },
  {
    name: 'endpoint',
    address: `${project}/events/${endpoint}`,
    heading: 'Endpoint',
    open: (page) => page.getByText('is refused: it leads to').first().waitFor(),
  },
  {
    name: 'delivery',
    address: `${project}/events/${endpoint}`,
    heading: 'Endpoint',
    open: (page) => page.getByRole('button', { name: 'Show', exact: true }).first().click(),
  },
];

const listSettingViews = (project: string): readonly View[] => [
  { name: 'api-access', address: `${project}/api-access`, heading: 'API access' },
  {
    name: 'api-key-new',
    address: `${project}/api-access`,
    heading: 'API access',
    open: (page) => page.getByRole('button', { name: 'New key' }).click(),
  },
  { name: 'settings', address: `${project}/settings`, heading: 'Settings' },
];

type Named = Readonly<Record<'identifier' | 'name', string>>;

/** The list, as it is and searched, and one of its products. */
function listProductViews(project: string, product: Named): readonly View[] {
  return [
    { name: 'products', address: `${project}/products`, heading: 'Products' },
    {
      name: 'product',
      address: `${project}/products/${encodeURIComponent(product.identifier)}`,
      heading: product.name,
    },
    {
      name: 'products-found',
      address: `${project}/products?q=${encodeURIComponent(product.name.split(' ')[0] ?? '')}`,
      heading: 'Products',
      async open(page) {
        const filters = page.getByRole('button', { name: 'Filters' });
        if ((await filters.getAttribute('aria-expanded')) === 'false') await filters.click();
        await page.locator('.facets summary').first().waitFor();
      },
    },
    {
      name: 'product-edit',
      address: `${project}/products/${encodeURIComponent(product.identifier)}`,
      heading: product.name,
      async open(page) {
        await page.getByRole('button', { name: 'Edit attributes …' }).click();
        await page
          .getByLabel(/^Value of /)
          .first()
          .fill('1');
        await page.getByRole('heading', { name: 'Effect of sending' }).waitFor();
      },
    },
  ];
}

/** An endpoint that has sent a test event to an address that is refused. */
async function findEndpoint({ webhookEndpoints }: Relata, projectId: number): Promise<number> {
  const [existing] = (await webhookEndpoints.list()).items;
  if (existing !== undefined) return existing.id;
  const scope = { type: 'project', id: projectId } as const;
  const endpoint = await webhookEndpoints.create({ url: 'http://10.0.0.1/', events: ['task.failed'], scope });
  await webhookEndpoints.test(endpoint.id);
  return endpoint.id;
}

async function listChannelViews(relata: Relata, projectId: number): Promise<readonly View[]> {
  const project = `#/projects/${projectId}`;
  const channel = await findChannel(relata, projectId);
  return [
    { name: 'channels', address: `${project}/channels`, heading: 'Channels' },
    {
      name: 'channel',
      address: `${project}/channels/${channel.id}`,
      heading: channel.name,
      open: (page) => page.getByRole('heading', { name: 'Builds' }).waitFor(),
    },
    {
      name: 'channel-edit',
      address: `${project}/channels/${channel.id}/edit`,
      heading: new RegExp(`${channel.name}$`),
      open: (page) => page.getByText('would be published').waitFor(),
    },
    {
      name: 'channel-new',
      address: `${project}/channels/new`,
      heading: 'New channel',
      async open(page) {
        await page.getByText('would be left out').waitFor();
        await page.getByRole('button', { name: 'A server, by SFTP' }).click();
      },
    },
  ];
}

/** A channel that was built from any catalog. */
async function findChannel({ channels, relations, tasks }: Relata, projectId: number) {
  const [existing] = (await channels.list(projectId)).items;
  if (existing !== undefined) return existing;
  const [relation] = await relations.list(projectId);
  const channel = await channels.create(projectId, {
    name: 'Google Shopping',
    format: { type: 'google-merchant' },
    relations: relation ? [{ tag: relation.tag, as: 'accessory', limit: 5 }] : [],
    mapping: {
      id: { field: 'identifier' },
      title: { field: 'name' },
      description: { template: 'The {name} of our shop' },
      link: { field: 'productUrl' },
      image_link: { constant: 'https://pictures.example/none.jpg' },
      availability: { constant: 'in_stock' },
      price: { expression: 'name ~> /18 V|8 mm/ ? "ask us" : "19.99 EUR"' },
    },
    trigger: { type: 'schedule', cron: '30 5 * * *', timeZone: 'Europe/Berlin' },
  });
  const task = await channels.build({ projectId, channelId: channel.id });
  await tasks.wait(task.id);
  return channel;
}

const FEED = `sku;title;price;image;category
SAW-1;Jigsaw;129,00;https://pictures.example/1.jpg;Tools > Saws
SAW-2;;99,00;;Tools > Saws
SAW-3;Hand saw;19,90;;Tools > Saws
`;

async function tryFile(page: Page): Promise<void> {
  const file = { name: 'saws.csv', mimeType: 'text/csv', buffer: Buffer.from(FEED) };
  await page.getByLabel('Sample file').setInputFiles(file);
  await page.getByText('3 rows, 2 products, 1 with problems').waitFor();
}

/** Opens the view and waits until it is complete. */
export async function showView(page: Page, { address, heading, open }: View): Promise<void> {
  await page.keyboard.press('Escape');
  const leave = page.getByRole('button', { name: 'Leave without saving' }).last();
  if (await leave.isVisible()) await leave.click();
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
  const isText = typeof heading === 'string';
  const shownHeading = page.getByRole('heading', { name: heading, exact: isText }).first();
  // The test may leave a view with unsaved input.
  await leave.or(shownHeading).first().waitFor();
  if (await leave.isVisible()) await leave.click();
  await shownHeading.waitFor();
  await page.waitForLoadState('networkidle');
  await open?.(page);
  await page.waitForFunction(
    () =>
      !/Loading …|Counting …/.test(document.body.textContent ?? '') &&
      document.querySelector('[aria-busy=true]') === null,
  );
}
