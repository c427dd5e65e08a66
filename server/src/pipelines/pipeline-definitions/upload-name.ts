/**
 * @returns the last part of the given name, or else of the name in Content-Disposition (RFC 6266). It is for logs and
 * guesses, and never a path to open.
 */
export function readFileName(requestedName: string | undefined, disposition: string | undefined): string {
  const name = (requestedName || readDisposition(disposition ?? '')).split(/[/\\]/).at(-1) ?? '';
  const plain = name.toWellFormed().replace(/\p{Cc}/gu, '');
  return plain.trim().slice(0, 255) || 'upload';
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
    // The name is for people, so a name with an invalid encoding is shown unchanged.
    return text;
  }
}
