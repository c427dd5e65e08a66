/** A request as a shell sends it; the address and the key stand in the environment. */
export interface ShellRequest {
  readonly method: string;
  /** Path and query, encoded. */
  readonly url: string;
  readonly headers?: readonly string[];
  /** As it is sent. */
  readonly body?: string | undefined;
  /** In place of a body: the file that holds it. */
  readonly bodyFile?: string;
}

/** What a shell would read within double quotes. */
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
