/**
 * The door of payloads: accepted bodies until their task has ended, as files or as rows.
 */
export {
  type BodyEncoding,
  readEncoding,
  unpackBeginning,
  unpackNow,
  unpackParts,
} from './body-encoding.ts';
export type { PayloadWriter } from './payload-files.ts';
export { createPayloadFiles, isWholePayload, type PayloadFiles } from './payload-files.ts';
export { createPayloadRows } from './payload-rows.ts';
