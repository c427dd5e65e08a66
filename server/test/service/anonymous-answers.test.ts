// runs: deep, postgres deep, own
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliDecompress,
  constants,
  gunzip,
  gzip,
  zstdCompress,
  zstdDecompress,
} from 'node:zlib';
import { shareService } from '../support/shared-service.ts';
import { testedStore } from '../support/test-store.ts';

/** Answers without a key cost almost nothing: docs/interface §8. */

const service = shareService();
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const ENCODINGS = {
  zstd: { pack: promisify(zstdCompress), unpack: promisify(zstdDecompress) },
  br: {
    pack: (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
    unpack: promisify(brotliDecompress),
  },
  gzip: { pack: promisify(gzip), unpack: promisify(gunzip) },
} as const;
const REQUESTS = 20;

/** fetch would decompress the answer. */
function ask(
  path: string,
  encoding: string,
): Promise<{ status: number | undefined; bytes: Buffer; packing: string | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${service().address}${path}`,
      { headers: { 'accept-encoding': encoding } },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part)).on('error', reject);
        const { statusCode: status, headers } = answer;
        answer.on('end', () =>
          resolve({ status, bytes: Buffer.concat(parts), packing: headers['content-encoding'] }),
        );
      },
    );
    sent.on('error', reject).end();
  });
}

/**
 * @returns the least processor time of this process, including the service, in ms, because other work can only add to
 * it
 */
async function measureCpu(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < REQUESTS; index += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

test(`the pages of the interface are packed once for each encoding (§10.3, ${testedStore})`, async () => {
  for (const path of ['/openapi.json', '/docs/api']) {
    const plain = await ask(path, 'identity');
    assert.equal(plain.status, 200);
    for (const [encoding, { unpack }] of Object.entries(ENCODINGS)) {
      const first = await Promise.all([ask(path, encoding), ask(path, encoding)]);
      for (const { packing, bytes } of first) {
        assert.equal(packing, encoding);
        assert.ok(plain.bytes.equals(await unpack(bytes)), `${path} ${encoding}`);
      }
    }
    const packing = await measureCpu(() => ENCODINGS.br.pack(plain.bytes));
    const answering = await measureCpu(() => ask(path, 'br'));
    // Compression takes 30 ms for the page and 3 ms for the document. An answer takes half a ms.
    if (path === '/docs/api')
      assert.ok(answering < packing / 2, `${answering} ms, packing takes ${packing} ms`);
  }
});
