// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyContextConfig } from 'fastify';
import { createServer } from '../server/server.ts';
import type { Guards } from './guards.ts';

test('a route below a project cannot be added without the guard that finds the project', async (t) => {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, {} as Guards);
  t.after(() => server.close());
  const add = (url: string, config: FastifyContextConfig) => server.get(url, { config }, async () => ({}));
  for (const guard of ['none', 'key', 'project', 'session', 'sign-in', 'own', undefined] as const) {
    const config = guard === undefined ? {} : { guard };
    assert.throws(
      () => add(`/management/projects/:id/of-${guard}`, config),
      /must have the guard management/,
    );
  }
  const managed = { guard: 'management' } as const;
  assert.throws(() => add('/management/projects/:project/products', managed), /must name its project :id/);
  assert.throws(() => add('/management/projects/:project', managed), /must name its project :id/);
  add('/management/projects/:id/products', managed);
  add('/management/projects/:id', managed);
  add('/management/projects', {});
});
