/** A request for a shell; the address of the service and the key are environment variables. */
export interface ShellRequest {
  readonly method: string;
  /** Path and query, encoded. */
  readonly url: string;
  readonly headers?: readonly string[];
  /** The body as sent. */
  readonly body?: string | undefined;
  /** The file with the body, in place of a body. */
  readonly bodyFile?: string;
}

/** Encodes the characters that a shell would interpret within double quotes. */
const encodeForShell = (url: string) =>
  url.replace(/["$`\\!\s]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function toCurl({ method, url, headers = [], body, bodyFile }: ShellRequest): string {
  const data = bodyFile ? `@${bodyFile}` : body;
  const form = bodyFile ? 'octet-stream' : 'json';
  const type = data === undefined ? [] : [`Content-Type: application/${form}`];
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$RELATA_URL${encodeForShell(url)}"`,
    '-H "Authorization: Bearer $RELATA_API_KEY"',
    ...[...headers, ...type].map((header) => `-H ${quote(header)}`),
    ...(data === undefined ? [] : [`--data-binary ${quote(data)}`]),
  ].join(' \\\n  ');
}
