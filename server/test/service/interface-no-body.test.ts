// runs: test (not on postgres: bodies that are refused before a route runs)
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

/** Calls below /management that accept no body (docs/interface §14.1 rule 8). */

const service = shareService();

/** Its body is ignored. */
const IGNORING = 'POST /management/projects/{id}/pipelines/{pipelineId}/run';
const UNKNOWN: Readonly<Record<string, string>> = { suggestionId: 'relation-0000000000000000' };

async function listWithoutBody(projectId: number): Promise<[string, string][]> {
  const document = await readFile(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
  const { paths } = JSON.parse(document) as { paths: Record<string, Record<string, AnyOperation>> };
  const calls = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, { requestBody, security }]) => {
        const isManagement =
          path.startsWith('/management/') && security?.some((scheme) => 'bearer' in scheme);
        return isManagement && method !== 'get' && requestBody === undefined;
      })
      .map(([method]) => [method.toUpperCase(), path] as [string, string]),
  );
  return calls
    .filter(([method, path]) => `${method} ${path}` !== IGNORING)
    .map(([method, path]) => {
      const below = path.replace('/management/projects/{id}', `/management/projects/${projectId}`);
      return [method, below.replace(/\{(\w+)\}/g, (_, name: string) => UNKNOWN[name] ?? '999999999')];
    });
}

interface AnyOperation {
  readonly requestBody?: object;
  readonly security?: readonly object[];
}

test('a call of the management API without a body refuses a body with content (§14.1)', async () => {
  const { projectId } = await createCatalog(service());
  const calls = await listWithoutBody(projectId);
  assert.ok(calls.length >= 15, `${calls.length}`);
  for (const [method, path] of calls) {
    const refused = await service().call(method, path, { body: { foo: 1 } });
    assertRefused(refused, 400, 'Your body params are not valid');
    assert.deepEqual(
      [refused.body.reason, refused.body.details],
      ['request_invalid', ['must NOT have additional properties: foo']],
      `${method} ${path}`,
    );
    for (const body of [['foo'], '"foo"', '1', 'false']) {
      const { status, body: answer } = await service().call(method, path, { body });
      assert.deepEqual([status, answer.details], [400, ['must be object']], `${method} ${path}`);
    }
  }
});

test('a missing body, an empty one and one without content are the same (§14.1)', async () => {
  const { projectId } = await createCatalog(service());
  const calls = (await listWithoutBody(projectId)).filter(([, path]) => path.includes('999999999'));
  assert.ok(calls.length >= 12, `${calls.length}`);
  for (const [method, path] of calls)
    for (const body of [undefined, '', '{}', 'null', '[]'])
      assertRefused(await service().call(method, path, { body }), 404);
});
