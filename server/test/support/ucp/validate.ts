import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';

const FOLDER = join(import.meta.dirname, 'schemas');
const ROOT = 'https://ucp.dev/schemas';

/** @returns the validator with the schemas of the protocol and the given ones */
export function openUcpSchemas(...more: readonly object[]) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // RFC 3986: ASCII only, no spaces.
  ajv.addFormat('uri', (text) => URL.canParse(text) && /^[!-~]+$/.test(text) && !/[<>"{}|\\^`]/.test(text));
  ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
  for (const file of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.json')) ajv.addSchema(JSON.parse(readFileSync(join(FOLDER, file), 'utf8')));
  for (const schema of more) ajv.addSchema(schema);
  return {
    /** @param name path below the schemas, followed by the definition after `#` */
    list(name: string, value: unknown): readonly ErrorObject[] {
      const url = name.startsWith('http') ? name : `${ROOT}/${name}`;
      const validate = ajv.getSchema(url) as ValidateFunction | undefined;
      if (validate === undefined) throw new Error(`no schema ${url}`);
      return validate(value) ? [] : (validate.errors ?? []);
    },
  };
}
