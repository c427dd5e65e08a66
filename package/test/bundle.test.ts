// runs: deep
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundleAlone, listUnbundled } from '../../server/bundle.ts';

/** The check that refuses a bundle whose packages work only at their own places: `server/bundle.ts`. */

const PLANTED: readonly [string, string, RegExp][] = [
  ['a folder of its own', "exports.path = __dirname + '/a.wasm';", /^planted\/index\.js: uses __dirname/],
  ['a file of its own', 'exports.path = __filename;', /^planted\/index\.js: uses __filename/],
  ['a module that is absent', "exports.load = () => require('absent');", /requires absent, which is not in/],
  ['a computed module', 'exports.load = (name) => require(name);', /requires a module by a computed name/],
];

for (const [what, code, problem] of PLANTED)
  test(`the check of the bundle names a package that needs ${what}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'relata-planted-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const place = join(folder, 'node_modules/planted');
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{"name":"planted","main":"index.js"}');
    writeFileSync(join(place, 'index.js'), code);
    writeFileSync(join(folder, 'main.mjs'), "import planted from 'planted'; console.log(planted);");
    const problems = listUnbundled(await bundleAlone(join(folder, 'main.mjs'), join(folder, 'out.mjs')));
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });

test('the check of the bundle names an ES module that reads its own path', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-planted-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const place = join(folder, 'node_modules/planted');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"name":"planted","type":"module","main":"index.js"}');
  writeFileSync(
    join(place, 'index.js'),
    "// import.meta.url\nexport default new URL('a.wasm', import.meta.url);",
  );
  writeFileSync(join(folder, 'main.mjs'), "import planted from 'planted'; console.log(planted);");
  const problems = listUnbundled(await bundleAlone(join(folder, 'main.mjs'), join(folder, 'out.mjs')));
  assert.deepEqual(problems, ['planted/index.js: uses import.meta, which is that of the chunk']);
});

test('the check of the bundle accepts local names, modules of Node and optional modules', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-planted-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const place = join(folder, 'node_modules/planted');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), '{"name":"planted","main":"index.js"}');
  const code = `const fs = require('fs');
let fast; try { fast = require('cpu-features'); } catch {}
exports.read = (__dirname) => fs.readFileSync(__dirname + '__filename') + fast;`;
  writeFileSync(join(place, 'index.js'), code);
  writeFileSync(join(folder, 'main.mjs'), "import planted from 'planted'; console.log(planted);");
  assert.deepEqual(listUnbundled(await bundleAlone(join(folder, 'main.mjs'), join(folder, 'out.mjs'))), []);
});
