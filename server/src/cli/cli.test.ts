// runs: test
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, type TestContext, test } from 'node:test';
import type { Command } from 'commander';
import { buildProgram, runCommand } from './cli.ts';

/** @returns the exit code and the text on standard error */
async function run(t: TestContext, ...args: string[]) {
  const lines: string[] = [];
  const errorMock = mock.method(console, 'error', (line: unknown) => lines.push(String(line)));
  t.after(() => errorMock.mock.restore());
  const code = await runCommand(args);
  errorMock.mock.restore();
  return { code, errorText: lines.join('\n') };
}

test('every command refuses unknown arguments and flags', async (t) => {
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
    ['relations toString', /unknown command 'toString'/],
    ['help toString', /unknown command 'toString'/],
    ['help push toString', /unknown command 'toString'/],
    ['help push --bogus', /unknown option '--bogus'/],
    ['key create --scope project', /Allowed choices are account/],
    ['restore a --project x', /'x' is invalid\. It must be a number from 1/],
    ['push --batch 20000 a', /'20000' is invalid\. It must be a number from 1 to 10,000/],
    ['push --on-invalid maybe a', /Allowed choices are refuse, skip/],
    ['push --full --allow-deletes x a', /'x' is invalid/],
    ['push --preview a', /--preview is for --full/],
    ['push --partial --allow-deletes 1 a', /--allow-deletes is for --full/],
    ['tasks --limit 0', /'0' is invalid/],
    ['related A --limit -1', /argument '-1' is invalid/],
  ];
  for (const [line, message] of refusals) {
    const { code, errorText } = await run(t, ...line.split(' '));
    assert.equal(code, 2, line);
    assert.match(errorText, message, line);
  }
});

/** @returns the commands with an action, with their full names */
function listCommands(command: Command, path: readonly string[] = []): [string, Command][] {
  const within = command.commands.flatMap((each) => listCommands(each, [...path, each.name()]));
  return command.commands.length === 0 ? [[path.join(' '), command]] : within;
}

/** @returns the output of `relata help …` */
function helpOf(name: string): string {
  let help = '';
  const program = buildProgram(() => async () => {});
  const write = (text: string) => {
    help += text;
  };
  for (const command of [program, ...listCommands(program).map(([, each]) => each)])
    command.configureOutput({ writeOut: write });
  assert.throws(() => program.parse(['help', ...name.split(' ').filter(Boolean)], { from: 'user' }));
  return help;
}

test('the help of every command describes each flag and, except --force, shows it in an example', () => {
  const commands = listCommands(buildProgram(() => async () => {}));
  assert.ok(commands.length > 20);
  const common = ['--url', '--key', '--project', '--profile', '--json', '--help'];
  const whole = commands.map(([name]) => helpOf(name).split('Example')[1] ?? '').join('\n');
  for (const [name, command] of commands) {
    const [usage = '', examples = ''] = helpOf(name).split(/^Examples?:$/m);
    assert.match(usage, new RegExp(`^Usage: relata ${name}`), name);
    assert.match(examples, new RegExp(`^ {2}relata ${name}\\b`, 'm'), name);
    assert.notEqual(command.description(), '', name);
    for (const { long = '', description } of command.options) {
      assert.notEqual(description, '', `${name} ${long}`);
      // Examples do not suggest flags that skip a check.
      if (long === '--force') continue;
      const describedIn = common.includes(long) ? whole : examples;
      assert.match(describedIn, new RegExp(`${long}\\b`), `${name} ${long}`);
    }
  }
  for (const long of common.slice(0, -1)) assert.match(whole, new RegExp(`${long}\\b`));
});

test('a command that needs a store does not create one', async (t) => {
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
        errorText: `The data folder ${dataDir} has no store, because control.db is missing: set RELATA_DATA_DIR.`,
      },
      line,
    );
    assert.ok(!existsSync(dataDir), line);
  }
});
