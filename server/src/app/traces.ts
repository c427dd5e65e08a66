import { setTimeout as delay } from 'node:timers/promises';
import { context, type DiagLogFunction, DiagLogLevel, diag, propagation, trace } from '@opentelemetry/api';
import type { TraceSettings } from '../config.ts';
import type { Logger } from '../kernel/logger.ts';

interface TraceParts {
  readonly logger: Logger;
  readonly version: string;
}

/** The time limit, because an unreachable collector must not prevent the process from ending. */
const CLOSE_MS = 5_000;

/** Starts the OpenTelemetry SDK if its variables request it. Without the SDK, spans cost nothing and are not sent. */
export async function openTraces(settings: TraceSettings | undefined, parts: TraceParts) {
  if (settings === undefined) return undefined;
  const { protocol } = settings;
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    parts.logger.warn(
      { protocol },
      'traces are not sent because OTEL_EXPORTER_OTLP_PROTOCOL is neither http/protobuf nor http/json',
    );
    return undefined;
  }
  try {
    return await startSdk(settings, parts);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    parts.logger.warn(
      {},
      'traces are not sent because the packages of OpenTelemetry are not installed (docs/operating/monitoring.md, "Traces")',
    );
    return undefined;
  }
}

async function startSdk(settings: TraceSettings, { logger, version }: TraceParts) {
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const { BatchSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace');
  logFirstFailure(logger);
  const provider = new TracerProvider({
    resource: await describeProcess(version),
    sampler: await openSampler(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter: await openExporter(settings), ...settings.batches })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    /** Sends the remaining spans. */
    close: () => Promise.race([provider.shutdown(), delay(CLOSE_MS, undefined, { ref: false })]),
  };
}

/** The exporter reads its addresses, headers and time limits from the variables itself. */
async function openExporter({ protocol }: TraceSettings) {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence. */
async function describeProcess(version: string) {
  const sdk = await import('@opentelemetry/resources');
  const usual = { 'service.name': 'relata', 'service.version': version };
  const detectors = [sdk.serviceInstanceIdDetector, sdk.hostDetector, sdk.envDetector];
  return sdk
    .defaultResource()
    .merge(sdk.resourceFromAttributes(usual))
    .merge(sdk.detectResources({ detectors }));
}

async function openSampler({ sampler, samplerRatio }: TraceSettings) {
  const sdk = await import('@opentelemetry/sdk-trace');
  const roots = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(samplerRatio),
  };
  const [, isParentBased, name] = /^(parentbased_)?(\w+)$/.exec(sampler) ?? [];
  const root = (roots[name as keyof typeof roots] ?? roots.always_on)();
  return isParentBased ? new sdk.ParentBasedSampler({ root }) : root;
}

/**
 * Logs the first failure without its text: the SDK reports every failed batch, and its texts may contain the address.
 */
function logFirstFailure(logger: Logger): void {
  let isReported = false;
  const logOnce: DiagLogFunction = () => {
    if (!isReported)
      logger.warn(
        {},
        'sending traces to OTEL_EXPORTER_OTLP_ENDPOINT failed; further failures are not logged',
      );
    isReported = true;
  };
  const quiet = () => {};
  diag.setLogger(
    { error: logOnce, warn: quiet, info: quiet, debug: quiet, verbose: quiet },
    DiagLogLevel.ERROR,
  );
}
