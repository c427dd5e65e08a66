/**
 * `npm run release`: checks, builds and packs the version of package.json, writes its bill of materials, commits the
 * changelog and sets the tag. `.github/workflows/release.yml` publishes the tag once it is pushed. `--dry-run` commits
 * and tags nothing.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findProblems, nameSection } from './release-rules.ts';

const ROOT = join(import.meta.dirname, '..');
const OUT = 'package/dist';
const MANIFESTS = ['package.json', 'server/package.json', 'client/package.json', 'console/package.json'];

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const say = (text: string) => process.stdout.write(`${text}\n`);
const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
const npm = (...args: string[]) => execFileSync('npm', args, { cwd: ROOT, stdio: 'inherit' });

function tag(version: string): void {
  const day = new Date().toISOString().slice(0, 10);
  writeFileSync(join(ROOT, 'CHANGELOG.md'), nameSection(read('CHANGELOG.md'), version, day));
  git('commit', '--quiet', '--message', `Release ${version}`, 'CHANGELOG.md');
  git('tag', `v${version}`);
  say(`v${version} is tagged: git push --follow-tags origin HEAD v${version} publishes it`);
}

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
const versions = Object.fromEntries(
  MANIFESTS.map((path) => [path, JSON.parse(read(path)).version as string]),
);
const version = versions['package.json'] ?? '';
const problems = findProblems({
  changes: git('status', '--porcelain'),
  tags: git('tag', '--list').split('\n'),
  versions,
  changelog: read('CHANGELOG.md'),
  kept: globSync('*', { cwd: join(ROOT, 'server/test/support/earlier-stores', version) }),
});
for (const problem of problems) say(`✖ ${problem}`);
if (problems.length > 0) process.exit(1);

npm('run', '--silent', 'check');
npm('run', '--silent', 'package');
rmSync(join(ROOT, OUT), { recursive: true, force: true });
mkdirSync(join(ROOT, OUT), { recursive: true });
npm('pack', '--silent', '--ignore-scripts', '--pack-destination', OUT);
execFileSync(process.execPath, ['package/bill.ts'], { cwd: ROOT, stdio: 'inherit' });
if (values['dry-run'])
  say(
    `would name the section [${version}] of CHANGELOG.md, commit it and tag v${version}; once pushed, relata@${version} goes to npm with its provenance`,
  );
else tag(version);
