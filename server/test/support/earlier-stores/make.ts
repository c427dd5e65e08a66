import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import program from '../../../package.json' with { type: 'json' };
import { Stops } from '../stops.ts';
import { startTestService } from '../test-service.ts';
import { makeTestStore, testedStore } from '../test-store.ts';
import { fillStore, readStore } from './content.ts';
import { packFiles, writePacked } from './packed-store.ts';

/** Makes and saves the store of this release: CONTRIBUTING.md, "Releases". */

const store = await makeTestStore();
const service = await startTestService(new Stops(), { store });
const remembered = await fillStore(service);
const answers = await readStore(service, remembered);
await service.stop();
const content = store.kind === 'embedded' ? { files: packFiles(store.dataDir) } : { dump: dumpDatabase() };
const path = writePacked(program.version, testedStore, { remembered, answers, ...content });
await store.remove();
process.stdout.write(`${path}\n`);
process.exit();

function dumpDatabase(): string {
  const bin = process.env.RELATA_TEST_POSTGRES_BIN ?? '';
  const url = store.settings.RELATA_DATABASE_URL ?? '';
  const dump = execFileSync(join(bin, 'pg_dump'), ['--inserts', '--no-owner', '--no-privileges', url]);
  // Commands of psql, which does not run this dump.
  return dump.toString().replaceAll(/^\\.*$/gm, '');
}
