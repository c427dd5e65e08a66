import type { HostileCaller } from './hostile-caller.ts';

/** Creates one thing of each kind as targets of hostile requests. @throws Error when one is refused */
export async function makeFirstThings(caller: HostileCaller, projectId: number): Promise<string[]> {
  const projectPath = `/management/projects/${projectId}`;
  const made: string[] = [];

  async function make(path: string, body: object) {
    const sent = { method: 'POST', path, headers: {}, body: Buffer.from(JSON.stringify(body)) } as const;
    const answer = await caller.ask({ ...sent, caller: 'key' });
    if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.text}`);
    if (answer.headers.location !== undefined) made.push(answer.headers.location);
    return answer.body;
  }

  const products = Array.from({ length: 12 }, (_, index) => ({
    identifier: `A-${index}`,
    name: `Saw ${index}`,
    categories: [{ path: ['Tools', 'Saws'] }],
    attributes: [
      { key: 'Brand', value: index % 2 === 0 ? 'Acme' : 'Other' },
      { key: 'Length', value: `${index},5 cm` },
    ],
  }));
  const { task } = await make(`/products?projectId=${projectId}`, { products });
  await caller.read(`/tasks/${task.id}?wait=60`);
  const all = { source: { all: [] }, target: { all: [] } };
  const match = [{ target: 'Brand', operator: 'equals', source: 'Brand' }];
  await make(`${projectPath}/relations`, { name: 'Same brand', tag: 'fits', ...all, match });
  await make(`${projectPath}/relations`, { name: 'Listed', tag: 'linked', kind: 'links' });
  const feed = {
    format: { type: 'csv' },
    mapping: { identifier: 'sku', name: 'title' },
    mode: 'incremental',
  };
  const manual = { source: { type: 'upload' }, trigger: { type: 'manual' } };
  await make(`${projectPath}/pipelines`, { name: 'Files', ...feed, ...manual });
  const source = { type: 'http', url: 'https://shop.invalid/a.csv' };
  await make(`${projectPath}/pipelines`, {
    name: 'Called',
    ...feed,
    source,
    trigger: { type: 'webhook', minSecondsBetween: 0 },
  });
  const channel = await make(`${projectPath}/channels`, { name: 'All', format: { type: 'ndjson' } });
  const build = await make(`${projectPath}/channels/${channel.id}/build`, {});
  await caller.read(`/tasks/${build.task.id}?wait=60`);
  const scope = { type: 'project', id: projectId };
  const events = ['task.finished'];
  await make('/management/webhook-endpoints', { url: 'https://shop.invalid/events', events, scope });
  await make('/management/api-keys', { name: 'Reader', scope, access: 'read' });
  await make('/management/project-groups', { name: 'Empty' });
  const answers = await Promise.all(
    ['pipelines', 'channels'].map((name) => caller.read(`${projectPath}/${name}`)),
  );
  return [...made, ...answers.map(({ text }) => text)];
}
