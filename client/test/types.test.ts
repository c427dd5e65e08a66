// runs: test
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const FILE = join(import.meta.dirname, 'calls.ts');

const BEGIN = `import { createRelata, choices, type RelataError } from '@relata/client';
const relata = createRelata();
const pipeline = { name: 'Feed', format: { type: 'csv' }, mode: 'full', source: { type: 'upload' }, trigger: { type: 'manual' } } as const;
const relation = { name: 'Bits', tag: 'bits', source: { all: [] }, target: { all: [] } };
`;

/** Calls that programs write. */
const TAKEN = [
  `relata.pipelines.create(1, { ...pipeline, source: { type: 'http', url: 'https://a', headers: { A: 'b' } } })`,
  `relata.pipelines.create(1, { ...pipeline, source: { type: 's3', endpoint: 'https://a', bucket: 'b', key: 'k', accessKeyId: 'i', secretAccessKey: 's' } })`,
  `relata.pipelines.create(1, { ...pipeline, format: { type: 'xlsx', sheet: 'Prices', headerRow: 2 } })`,
  `relata.pipelines.create(1, { ...pipeline, trigger: { type: 'schedule', cron: '0 3 * * *', timeZone: 'UTC' } })`,
  `relata.pipelines.create(1, { ...pipeline, mapping: { identifier: 'sku', filter: { all: [{ column: 'stock', operator: 'greater', value: 0 }, { not: { expression: 'a = b' } }] } } })`,
  `relata.pipelines.get({ projectId: 1, pipelineId: 1 }).then(({ value }) => value.source.type === 'sftp' && value.source.hostKey.length)`,
  `relata.relations.create(1, { ...relation, source: { any: [{ attribute: 'Width', operator: 'between', value: [1, '2 in'] }, { attribute: 'Width', operator: 'exists' }] } })`,
  `relata.relations.relatedTo('A1', { explain: true }).then(({ tags }) => tags[0]?.relations[0]?.searchResult[0]?.explain?.match[0]?.targetValues)`,
  `relata.call('postSearchRelationsResult', { body: { identifier: 'A1', projectId: 1, includeTags: [{ tag: 'bits', limitPerRelation: 3 }] } })`,
  `relata.call('postSearchRelationsBulkResults', { query: { projectId: 1 }, body: { identifiers: ['A1'] } })`,
  `relata.products.change([{ identifier: 'A1', attributes: { Price: '1', Size: ['S', { value: 'M', userGroups: ['b2b'] }], Old: null } }])`,
  `relata.products.replace([{ identifier: 'A1', name: 'A', settings: [] }])`,
  `relata.pipelines.create(1, { ...pipeline, format: { type: choices.PipelineFormat[0]!.type } })`,
  `relata.channels.create(1, { name: 'Google', format: { type: 'google-merchant', variant: 'xml' }, relations: [{ tag: 'bits', as: 'accessory' }] })`,
  `relata.channels.get({ projectId: 1, channelId: 1 }).then(({ value }) => value.destinations.map((one) => one.type === 's3' && one.bucket))`,
  `((error: RelataError) => error.reason === 'delete_guard' && error.validation[0]?.product?.index)`,
];

/** Mistakes, and the errors of the compiler. */
const REFUSED: readonly (readonly [call: string, says: RegExp])[] = [
  [`relata.pipelines.create(1, { ...pipeline, source: { type: 'ftp' } })`, /"ftp"' is not assignable/],
  [`relata.pipelines.create(1, { ...pipeline, source: { type: 'http' } })`, /'url' is missing/],
  [
    `relata.pipelines.create(1, { ...pipeline, source: { type: 'http', url: 'a', bucket: 'b' } })`,
    /'bucket' does not exist/,
  ],
  [
    `relata.pipelines.create(1, { ...pipeline, format: { type: 'csv', sheet: 1 } })`,
    /'sheet' does not exist/,
  ],
  [
    `relata.pipelines.create(1, { ...pipeline, format: { type: 'csv', encoding: 'utf8' } })`,
    /"utf8"' is not assignable/,
  ],
  [
    `relata.pipelines.create(1, { ...pipeline, trigger: { type: 'schedule', cron: '0 3 * * *' } })`,
    /'timeZone' is missing/,
  ],
  [
    `relata.pipelines.create(1, { ...pipeline, mapping: { identifier: 'sku', filter: { column: 'a', operator: 'is', value: 'b' } } })`,
    /"is"' is not assignable/,
  ],
  [
    `relata.pipelines.get({ projectId: 1, pipelineId: 1 }).then(({ value }) => value.source.hostKey)`,
    /'hostKey' does not exist/,
  ],
  [
    `relata.relations.create(1, { ...relation, source: { attribute: 'Width', operator: 'between', value: 1 } })`,
    /'number' is not assignable to type '\[/,
  ],
  [
    `relata.relations.create(1, { ...relation, source: { attribute: 'Width', operator: 'equals' } })`,
    /'value' is missing/,
  ],
  [`relata.relations.create(1, { ...relation, target: { some: [] } })`, /'some' does not exist/],
  [
    `relata.call('postSearchRelationsResult', { body: { identifier: 'A1', projectId: '1' } })`,
    /'string' is not assignable to type 'number'/,
  ],
  [
    `relata.call('postSearchRelationsResult', { body: { identifier: 'A1', project: 1 } })`,
    /'project' does not exist/,
  ],
  [
    `relata.channels.create(1, { name: 'A', format: { type: 'csv' }, destinations: [{ type: 's3', host: 'a' }] })`,
    /'host' does not exist/,
  ],
  [`relata.call('getTasksById', {})`, /'path' is missing/],
  [
    `relata.products.change([{ identifier: 'A1', attributes: { Price: 1 } }])`,
    /'number' is not assignable to type/,
  ],
  [`relata.products.replace([{ identifier: 'A1' }])`, /'name' is missing/],
  [`((error: RelataError) => error.reason === 'deleted')`, /have no overlap/],
];

test('the types accept exactly the calls that the service accepts', () => {
  const calls = [...TAKEN, ...REFUSED.map(([call]) => call)];
  const errors = compile(BEGIN + calls.map((call) => `void ${call};\n`).join(''));
  const first = BEGIN.split('\n').length - 1;
  assert.deepEqual(
    [...errors.keys()].filter((line) => line < first),
    [],
  );
  TAKEN.forEach((call, at) => {
    assert.equal(errors.get(first + at), undefined, call);
  });
  REFUSED.forEach(([call, says], at) => {
    assert.match(errors.get(first + TAKEN.length + at) ?? 'nothing', says, call);
  });
});

/** @returns the errors of the compiler, by line from 0 */
function compile(text: string): Map<number, string> {
  const config = ts.readConfigFile(join(import.meta.dirname, '../tsconfig.json'), ts.sys.readFile).config;
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, import.meta.dirname);
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === FILE || fileExists(name);
  host.getSourceFile = (name, version) =>
    name === FILE ? ts.createSourceFile(name, text, version) : getSourceFile(name, version);
  const program = ts.createProgram([FILE], options, host);
  const source = program.getSourceFile(FILE);
  assert(source);
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  const errors = new Map<number, string>();
  for (const { start = 0, messageText } of found) {
    const { line } = source.getLineAndCharacterOfPosition(start);
    const said = ts.flattenDiagnosticMessageText(messageText, '\n');
    errors.set(line, `${errors.get(line) ?? ''}${said}\n`);
  }
  return errors;
}
