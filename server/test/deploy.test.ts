import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readConfig } from '../src/config.ts';

/** What compose.yaml and the Dockerfile say must fit the program. No container engine is needed, and none is asked. */

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test('the image has the Node that the package names', () => {
  const { dependencies } = JSON.parse(read('server/package.json'));
  const dockerfile = read('Dockerfile');
  const named = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)/gm)].map(([, name]) => name);
  const stages = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  assert.deepEqual(
    new Set(stages.filter((image) => !named.includes(image))),
    new Set([`node:${dependencies.node}-slim`]),
  );
});

test('the image has the console, made by a stage that installs what builds it', () => {
  const stages = read('Dockerfile').split(/^(?=FROM )/m);
  const maker = stages.find((stage) => stage.includes('RUN npm run build')) ?? '';
  const [, name] = /^FROM \S+ AS (\S+)/.exec(maker) ?? [];
  assert.match(maker, /^RUN npm ci (?!.*--omit)/m);
  assert.match(
    stages.at(-1) ?? '',
    new RegExp(`^COPY --from=${name} /opt/relata/console/dist console/dist$`, 'm'),
  );
});

test('the settings of compose.yaml are settings of the service, and stand in its image', () => {
  const settings = [
    ...read('compose.yaml').matchAll(/^ {4,}(RELATA_[A-Z_]+): (?!\$)(.*)$/gm),
    ...read('Dockerfile').matchAll(/^(?:ENV)? +(RELATA_[A-Z_]+)=(\S+?)(?: \\)?$/gm),
  ].map(([, name = '', value = '']) => [name, value]);
  assert.ok(settings.length >= 5, `${settings}`);
  const config = readConfig(Object.fromEntries(settings));
  assert.equal(config.database?.url, 'postgres://relata@postgres:5432/relata');
  assert.equal(config.host, '0.0.0.0');
});

test('a secret of compose.yaml has no default: without it nothing starts', () => {
  const places = [...read('compose.yaml').matchAll(/^ *([A-Z_]*(?:PASSWORD|KEY)): (.*)$/gm)];
  assert.deepEqual(
    places.map(([, name]) => name),
    ['PGPASSWORD', 'RELATA_ACCOUNT_KEY', 'POSTGRES_PASSWORD'],
  );
  for (const [line, , value = ''] of places) {
    assert.match(value, /^\$\{(?:POSTGRES_PASSWORD|RELATA_ACCOUNT_KEY):\?/, line);
  }
});

test('the image is made of the service and the console alone', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(lines[0], '*', 'what nobody names stays out, e.g. .env and data');
  for (const [, path = ''] of read('Dockerfile').matchAll(/^COPY (?!--from)(\S+)/gm)) {
    assert.ok(
      lines.some((line) => line.startsWith('!') && path.split('/')[0] === line.slice(1)),
      path,
    );
  }
});
