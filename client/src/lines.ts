/** @returns the lines of a body as they arrive, without their ends */
export async function* readLines(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = done ? '' : (lines.pop() ?? '');
      for (const line of lines) if (line !== '' || !done) yield line.replace(/\r$/, '');
      if (done) return;
    }
  } finally {
    // Who stops reading early gives the connection back.
    await reader.cancel().catch(() => undefined);
  }
}

/** @returns the values of an NDJSON body as they arrive */
export async function* readNdjson<Value>(response: Response): AsyncGenerator<Value> {
  for await (const line of readLines(response)) if (line !== '') yield JSON.parse(line) as Value;
}

/** @returns the `data` of each server-sent event with this name */
export async function* readEvents<Value>(response: Response, name: string): AsyncGenerator<Value> {
  let event = '';
  let text: string[] = [];
  for await (const line of readLines(response)) {
    if (line === '') {
      if (event === name && text.length > 0) yield JSON.parse(text.join('\n')) as Value;
      event = '';
      text = [];
    } else if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) text.push(line.slice(5).replace(/^ /, ''));
  }
}
