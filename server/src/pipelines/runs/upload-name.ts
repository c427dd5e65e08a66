/** What the headers of a file that is sent in say about it. */

export interface SentFileKind {
  /** In lower case, without parameters; undefined where it says nothing. */
  readonly mediaType: string | undefined;
  readonly charset: string | undefined;
}

const NAME_LENGTH = 255;
/** Content types that programs send for any file. */
const SAYS_NOTHING = new Set(['application/x-www-form-urlencoded', 'application/octet-stream']);

export function readSentType(header: string | undefined): SentFileKind {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  const charset = parameters.map((one) => /^charset="?([^"\s]{1,64})"?$/i.exec(one)?.[1]).find(Boolean);
  const mediaType = type.toLowerCase();
  const isKnown = mediaType !== '' && !SAYS_NOTHING.has(mediaType);
  return { mediaType: isKnown ? mediaType : undefined, charset: charset?.toLowerCase() };
}

/**
 * @returns the last part of the name that was given, or else of the one in Content-Disposition (RFC 6266); for logs and
 * guesses, never a path to open
 */
export function readFileName(given: string | undefined, disposition: string | undefined): string {
  const name = (given || readDisposition(disposition ?? '')).split(/[/\\]/).at(-1) ?? '';
  const plain = name
    .toWellFormed()
    .replace(/\p{Cc}/gu, '')
    .trim();
  return plain.slice(0, NAME_LENGTH) || 'upload';
}

function readDisposition(header: string): string {
  const encoded = /(?:^|;)\s*filename\*\s*=\s*UTF-8'[^']*'([^;\s]+)/i.exec(header)?.[1];
  if (encoded !== undefined) return decode(encoded);
  const [, quoted, token] = /(?:^|;)\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header) ?? [];
  return quoted?.replace(/\\(.)/g, '$1') ?? token ?? '';
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The name is for people; one that is not encoded is shown as it came.
    return text;
  }
}
