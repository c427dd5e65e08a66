import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { ServiceError } from './errors.ts';

/**
 * Spans, using the OpenTelemetry API. Its calls do nothing without an SDK, which app/traces.ts starts if configured. A
 * span has ids, kinds and counts, but no value that a caller sent and no error message.
 */
export interface SpanFacts {
  readonly name: string;
  readonly attributes: Readonly<Attributes>;
}

type Note = (attributes: Attributes) => void;

const tracer = trace.getTracer('relata');

/** Runs work as a span of the current trace. `note` adds attributes that only the work can determine. */
export const traced = <Result>(facts: SpanFacts, work: (note: Note) => Promise<Result>): Promise<Result> =>
  runSpan(facts, context.active(), work);

/**
 * Runs work that outlives its cause.
 * @param traceparent the span of the cause, perhaps in another process; without it the work begins a new trace
 */
export function tracedApart<Result>(
  traceparent: string | undefined,
  facts: SpanFacts,
  work: (note: Note) => Promise<Result>,
): Promise<Result> {
  const cause = traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
  return runSpan(facts, cause, work);
}

/** @returns the current span, to be stored with the work that it causes; undefined without tracing */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

function runSpan<Result>(
  { name, attributes }: SpanFacts,
  parent: Context,
  work: (note: Note) => Promise<Result>,
): Promise<Result> {
  return tracer.startActiveSpan(name, { attributes }, parent, async (span) => {
    try {
      return await work((added) => void span.setAttributes(added));
    } catch (error) {
      span.setAttribute('error.type', nameOf(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

const nameOf = (error: unknown) =>
  error instanceof ServiceError ? error.code : error instanceof Error ? error.name : 'unknown';

export type RequestSpan = ReturnType<typeof openRequestSpan>;

/** Begins the span of a request, which continues the trace that its headers name. */
export function openRequestSpan(method: string, route: string, headers: object) {
  const caller = propagation.extract(ROOT_CONTEXT, headers);
  const attributes = { 'http.request.method': method, 'http.route': route };
  const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, caller);
  return {
    /** Calls the code that serves the request, within its span. */
    serve: (next: () => void) => context.with(trace.setSpan(caller, span), next),
    end(status: number, added: Attributes): void {
      span.setAttributes({ ...added, 'http.response.status_code': status });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}
