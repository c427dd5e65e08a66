/** Which bytes of a file a reader wants. Source: RFC 9110 §13, §14. Pure. */
import type { IncomingHttpHeaders } from 'node:http';
import { namesTag } from '../../kernel/entity-tag.ts';

export interface ServedFile {
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** In quotes. */
  readonly etag: string;
  readonly modifiedAt: number;
  /** @returns the bytes from `from` up to, not including, `to` */
  read(from: number, to: number): AsyncGenerator<Uint8Array>;
}

type FileState = Pick<ServedFile, 'sizeBytes' | 'etag' | 'modifiedAt'>;

export interface WantedBytes {
  readonly from: number;
  /** Not included. */
  readonly to: number;
  readonly isPart: boolean;
}

const toSeconds = (ms: number) => Math.floor(ms / 1_000);

/** Whether the reader has the file as it is. An ETag goes before a date. */
export function hasAlready(headers: IncomingHttpHeaders, { etag, modifiedAt }: FileState): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) return namesTag(tags, etag);
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return !Number.isNaN(since) && toSeconds(modifiedAt) <= toSeconds(since);
}

/** @returns the whole file where one range is not what is asked for; undefined for a range that it does not have */
export function findWanted(headers: IncomingHttpHeaders, file: FileState): WantedBytes | undefined {
  const { sizeBytes } = file;
  const [, first = '', last = ''] = RANGE.exec(headers.range?.trim() ?? '') ?? [];
  if (first + last === '' || !isSame(headers['if-range'], file))
    return { from: 0, to: sizeBytes, isPart: false };
  const from = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  return from < to ? { from, to, isPart: true } : undefined;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Whether what the reader has a part of is what is there now. */
function isSame(condition: string | string[] | undefined, { etag, modifiedAt }: FileState): boolean {
  if (condition === undefined) return true;
  const text = String(condition).trim();
  return text.startsWith('"') ? text === etag : toSeconds(Date.parse(text)) === toSeconds(modifiedAt);
}
