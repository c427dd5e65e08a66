// runs: deep (not on postgres: a client, which sees answers and no store)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCatalog, shareService } from '../support/shared-service.ts';

/** clients/python against the service, with the system's Python. */
const TESTS = join(import.meta.dirname, '../../../clients/python/test/tests.py');

const missing =
  spawnSync('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).status !== 0 &&
  'Python is missing: apt-get install python3';
const theService = missing ? undefined : shareService();

const [, listed = ''] = /^TESTS[^{]*\{(.*?)^\}/ms.exec(readFileSync(TESTS, 'utf8')) ?? [];
const names = [...listed.matchAll(/^ {4}"(.*)":/gm)].map(([, name = '']) => name);

for (const name of names)
  test(`Python: ${name}`, { skip: missing }, async () => {
    const service = theService?.() ?? assert.fail();
    const { projectId } = await createCatalog(service, { maxDeletePercent: 30 });
    const { PATH, HOME } = process.env;
    const child = spawn('python3', [TESTS], {
      env: {
        PATH,
        HOME,
        RELATA_URL: service.address,
        RELATA_API_KEY: service.key,
        RELATA_PROJECT: String(projectId),
        RELATA_TEST: name,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
    await once(child, 'close');
    assert.equal(output, `ok ${name}\n`);
  });

test('Python: the suite has tests', () => assert.ok(names.length >= 5));
