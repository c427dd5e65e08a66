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

const SERVE = 'Usage: relata serve [--role api|worker|all]';

test('every command refuses arguments and flags that it does not know, in one line', async (t) => {
  const refusals: [string, string][] = [
    ['serve extra', `relata serve does not take extra. ${SERVE}`],
    ['serve --project 7', `relata serve does not take --project. ${SERVE}`],
    ['serve --port 1', "relata: Unknown option '--port'; relata help lists all commands"],
    ['serve --role', "relata: Option '--role <value>' argument missing; relata help lists all commands"],
    ['demo now', 'relata demo does not take now. Usage: relata demo'],
    ['openapi --force', 'relata openapi does not take --force. Usage: relata openapi'],
    ['account create A B', 'relata account create does not take B. Usage: relata account create NAME'],
    ['account create', 'relata account create needs NAME. Usage: relata account create NAME'],
    [
      'key create now --scope account',
      'relata key create does not take now. Usage: relata key create --scope account [--account NAME] [--name NAME]',
    ],
    ['owner-link Main', 'relata owner-link does not take Main. Usage: relata owner-link [--account NAME]'],
    ['backup', 'relata backup needs DIR. Usage: relata backup DIR'],
    ['backup a b --role api', 'relata backup does not take b --role. Usage: relata backup DIR'],
    ['restore', 'relata restore needs DIR. Usage: relata restore DIR [--project N]'],
    [
      'restore a --account Main',
      'relata restore does not take --account. Usage: relata restore DIR [--project N]',
    ],
    [
      'migrate-store a --from a --to b',
      'relata migrate-store does not take a. Usage: relata migrate-store --from DIR --to postgres://… [--force]',
    ],
    ['account', 'relata: no command account; relata help lists all'],
    ['toString', 'relata: no command toString; relata help lists all'],
  ];
  for (const [line, wanted] of refusals) {
    assert.deepEqual(await run(t, ...line.split(' ')), { code: 2, said: wanted }, line);
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
