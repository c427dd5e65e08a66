/** Prints the OpenAPI document of the routes. Run by `npm run openapi`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { createApp } from '../src/app/app.ts';
import { readConfig } from '../src/config.ts';
import { describeServer, documentServer } from './openapi.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'relata-openapi-'));
try {
  const app = await createApp({
    config: readConfig({ RELATA_DATA_DIR: dataDir, RELATA_LOG_LEVEL: 'silent' }),
    onServer: (server) => documentServer(server, manifest.version),
  });
  const document = JSON.stringify(describeServer(app.server), null, 2);
  await app.stop();
  process.stdout.write(`${document}\n`);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
