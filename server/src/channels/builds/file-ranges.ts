/** The bytes of a file that a request names. Pure. Source: RFC 9110 §13, §14. */
import type { IncomingHttpHeaders } from 'node:http';
import { namesTag } from '../../kernel/entity-tag.ts';
import type { ServedFile } from './served-files.ts';

type FileState = Pick<ServedFile, 'sizeBytes' | 'etag' | 'modifiedAt'>;

const toSeconds = (ms: number) => Math.floor(ms / 1_000);

/** Whether the reader already has the file. An ETag takes precedence over a date. */
export function hasAlready(headers: IncomingHttpHeaders, { etag, modifiedAt }: FileState): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return namesTag(tags, etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && toSeconds(modifiedAt) <= toSeconds(since);
}

/**
 * @returns the range, with `to` excluded. It is the whole file if the request names no range, and undefined if the
 * range is outside the file.
 */
export function findRange(headers: IncomingHttpHeaders, file: FileState) {
  const { sizeBytes } = file;
  const range = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range?.trim() ?? '');
  const [, first = '', last = ''] = range ?? [];
  if (first + last === '' || !isSame(headers['if-range'], file))
    return { from: 0, to: sizeBytes, isPart: false };
  const from = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  return from < to ? { from, to, isPart: true } : undefined;
}

/** Whether the part that the reader has belongs to the current file. */
function isSame(condition: string | string[] | undefined, { etag, modifiedAt }: FileState): boolean {
  if (condition === undefined) return true;
  const text = String(condition).trim();
  return text.startsWith('"') ? text === etag : toSeconds(Date.parse(text)) === toSeconds(modifiedAt);
}
