import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readSecretKey } from '../../kernel/secret-key.ts';
import { writeOwnFile } from '../durable-folders.ts';

const KEY_BYTES = 32;
const MAKE_ONE = 'write one made by openssl rand -base64 32';

/** @returns the keys of a file, one a line; lines that begin with # are comments. @throws Error that names file and line */
export function readSecretKeyFile(path: string): Uint8Array[] {
  const lines = readFileSync(path, 'utf8').split(/\r?\n/);
  const keys = lines.flatMap((line, at) => {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) return [];
    return readSecretKey(text) ?? refuseLine(path, at + 1);
  });
  if (keys.length === 0) throw new Error(`The key file ${path} holds no key: ${MAKE_ONE}.`);
  return keys;
}

function refuseLine(path: string, line: number): never {
  throw new Error(`Line ${line} of the key file ${path} is no key of 32 bytes in base64: ${MAKE_ONE}.`);
}

/** The key file of a data directory, which the first secret makes. */
export function secretKeyFileAt(path: string) {
  return {
    keys: existsSync(path) ? readSecretKeyFile(path) : [],
    /** The file is durable before anything is sealed with its key. */
    makeKey(): Uint8Array {
      const key = randomBytes(KEY_BYTES);
      writeOwnFile(path, `${key.toString('base64')}\n`, 'wx');
      return key;
    },
  };
}
