import { UnreachableError } from './relata-error.ts';

/** @returns the parts of a body as they arrive @throws UnreachableError if the connection breaks before its end */
async function* readText({ body }: Response): AsyncGenerator<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  try {
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read())
      yield decoder.decode(read.value, { stream: true });
  } catch (error) {
    // The error that fetch throws if the network fails. A caller that aborts gets its own reason.
    throw error instanceof TypeError ? new UnreachableError(error) : error;
  } finally {
    // A caller that stops reading early releases the connection.
    await reader?.cancel().catch(() => undefined);
  }
}

/** @returns the lines of a body as they arrive, without their ends */
export async function* readLines(response: Response): AsyncGenerator<string> {
  let rest = '';
  for await (const text of readText(response)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.replace(/\r$/, '');
  }
  if (rest !== '') yield rest;
}

/** @returns the values of an NDJSON body as they arrive */
export async function* readNdjson<Value>(response: Response): AsyncGenerator<Value> {
  for await (const line of readLines(response)) if (line !== '') yield JSON.parse(line) as Value;
}

/** @returns the `data` of each server-sent event with this name */
export async function* readEvents<Value>(response: Response, name: string): AsyncGenerator<Value> {
  let fields: [name: string, value: string][] = [];
  for await (const line of readLines(response)) {
    if (line !== '') {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      fields.push([field, value]);
      continue;
    }
    const isNamed = fields.some(([field, value]) => field === 'event' && value === name);
    const data = fields.filter(([field]) => field === 'data').map(([, value]) => value);
    if (isNamed && data.length > 0) yield JSON.parse(data.join('\n')) as Value;
    fields = [];
  }
}
