import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../app/app.ts';
import { readConfig } from '../config.ts';

/** `relata openapi`: the document that the routes generate, on standard output. */
export async function openapiCommand(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'relata-openapi-'));
  try {
    const app = await createApp({
      config: readConfig({ RELATA_DATA_DIR: dataDir, RELATA_LOG_LEVEL: 'silent' }),
    });
    const document = JSON.stringify(app.describe(), null, 2);
    await app.stop();
    process.stdout.write(`${document}\n`);
    return 0;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
