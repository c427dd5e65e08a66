// runs: deep (not on postgres: a protocol over calls that other tests run on both stores)
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createCatalog, shareService } from '../support/shared-service.ts';

/** The conformance suite of the protocol's project, run against /mcp (§15). */
const service = shareService();
const SUITE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);

/**
 * The scenarios that are expected to fail. Each needs a feature or a tool that this service does not have.
 */
const EXPECTED_FAILURES = join(import.meta.dirname, 'mcp-conformance-failures.yml');

test('/mcp passes the conformance suite except for the listed cases, each with its reason (§15)', async (t) => {
  const { projectId } = await createCatalog(service());
  const scope = { type: 'project', id: projectId };
  const { body } = await service().call('POST', '/management/api-keys', {
    body: { name: 'Suite', scope, access: 'write' },
  });
  const results = mkdtempSync(join(tmpdir(), 'relata-conformance-'));
  t.after(() => rmSync(results, { recursive: true }));
  // The suite sends no custom headers.
  const url = `${service().address}/mcp?apiKey=${body.key}`;
  const args = ['server', '--url', url, '--suite', 'all', '--expected-failures', EXPECTED_FAILURES];
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(process.execPath, [SUITE, ...args, '--output-dir', results], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
  assert.equal(code, 0, output.slice(-6_000));
});
