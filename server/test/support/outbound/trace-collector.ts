import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Stopping } from '../stops.ts';

/** The tested fields of a span in OTLP's JSON. */
export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: { key: string; value: Record<string, unknown> }[];
}

/** Receives spans like a collector of traces. `settings`: the settings of the service that sends them. */
export async function startCollector(t: Stopping) {
  const spans: SentSpan[] = [];
  const paths = new Set<string>();
  let text = '';
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      paths.add(request.url ?? '');
      const sent = Buffer.concat(pieces).toString();
      text += sent;
      for (const { scopeSpans } of JSON.parse(sent).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    /** The paths of all requests. */
    paths,
    text: () => text,
    spans,
    async find(name: string, isWanted: (span: SentSpan) => boolean = () => true): Promise<SentSpan> {
      for (;;) {
        const match = spans.find((span) => span.name === name && isWanted(span));
        if (match !== undefined) return match;
        await delay(20);
      }
    },
  };
}
