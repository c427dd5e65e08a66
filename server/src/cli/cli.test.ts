import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, type TestContext, test } from 'node:test';
import { runCommand } from './cli.ts';

/** @returns the exit code and what stands on standard error */
async function run(t: TestContext, ...args: string[]) {
  const said: string[] = [];
  const heard = mock.method(console, 'error', (line: unknown) => said.push(String(line)));
  t.after(() => heard.mock.restore());
  const code = await runCommand(args);
  heard.mock.restore();
  return { code, said: said.join('\n') };
}

test('every command refuses arguments and flags that it does not know', async (t) => {
  const refusals: [string, RegExp][] = [
    ['serve extra', /too many arguments for 'serve'/],
    ['serve --project 7', /unknown option '--project'/],
    ['serve --role', /option '--role <ROLE>' argument missing/],
    ['serve --role both', /Allowed choices are api, worker, all/],
    ['demo now', /too many arguments for 'demo'/],
    ['openapi --bogus', /unknown option '--bogus'/],
    ['account create A B', /too many arguments for 'create'/],
    ['account create', /missing required argument 'NAME'/],
    ['key create', /required option '--scope <SCOPE>' not specified/],
    ['owner-link Main', /too many arguments for 'owner-link'/],
    ['backup', /missing required argument 'DIR'/],
    ['restore a --account Main', /unknown option '--account'/],
    ['migrate-store --from a', /required option '--to <STORE>' not specified/],
    ['push --full', /missing required argument 'FILE'/],
    ['relations plan', /missing required argument 'FILE'/],
    ['toString', /unknown command 'toString'/],
  ];
  for (const [line, wanted] of refusals) {
    const { code, said } = await run(t, ...line.split(' '));
    assert.equal(code, 2, line);
    assert.match(said, wanted, line);
  }
});

test('a command that needs a store makes none', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-cli-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'data');
  const before = process.env.RELATA_DATA_DIR;
  process.env.RELATA_DATA_DIR = dataDir;
  t.after(() => {
    if (before === undefined) delete process.env.RELATA_DATA_DIR;
    else process.env.RELATA_DATA_DIR = before;
  });
  for (const line of [
    'key create --scope account',
    'account create Other',
    'owner-link',
    `backup ${folder}/backup`,
  ]) {
    assert.deepEqual(
      await run(t, ...line.split(' ')),
      {
        code: 1,
        said: `The data folder ${dataDir} holds no store, there is no control.db: set RELATA_DATA_DIR.`,
      },
      line,
    );
    assert.ok(!existsSync(dataDir), line);
  }
});
