import type { Socket } from 'node:net';
import pg, { type ClientBase, type PoolClient } from 'pg';

/** A connection that is silent for this long triggers a probe. Most statements take a few milliseconds. */
const SILENT_MS = 1_500;
const CHECK_MS = 500;
/** With the two times above it makes 8 s, so that callers get an answer within 10. */
const PROBE_MS = 6_000;
/** A thread that was busy for longer than this may not have read an answer that has already arrived. */
const LATE_MS = 500;

/**
 * Ends connections to a database that hangs or that the network cuts off, because TCP alone takes minutes to notice. A
 * statement may take any time while the database answers probes.
 */
export function watchPool(pool: pg.Pool, url: string) {
  /** When each connection in use last received data. */
  const heardAt = new Map<PoolClient, number>();
  let lastHeardAt = 0;
  let isAway = false;
  let isAsking = false;

  pool.on('connect', (client) => {
    socketOf(client).on('data', () => {
      lastHeardAt = performance.now();
      if (heardAt.has(client)) heardAt.set(client, lastHeardAt);
    });
  });
  pool.on('acquire', (client) => void heardAt.set(client, performance.now()));
  pool.on('release', (_, client) => void heardAt.delete(client));
  pool.on('remove', (client) => void heardAt.delete(client));

  async function probe(): Promise<void> {
    const requestedAt = performance.now();
    const answers = await isAnswering(url);
    // A probe may wait at a proxy whose connections are all busy, so later data on another connection also counts.
    isAway = !answers && lastHeardAt < requestedAt;
    for (const client of [...heardAt.keys()]) {
      if (isAway) socketOf(client).destroy();
      else heardAt.set(client, performance.now());
    }
  }

  async function checkNow(): Promise<void> {
    const silentSince = performance.now() - SILENT_MS;
    const isAnyWaiting = heardAt.values().some((lastHeard) => lastHeard < silentSince);
    if (isAsking || !(isAway || isAnyWaiting)) return;
    isAsking = true;
    await probe();
    isAsking = false;
  }

  const timer = setInterval(() => void checkNow(), CHECK_MS).unref();
  return {
    /** Whether the last probe got no answer. */
    isAway: () => isAway,
    stop: () => clearInterval(timer),
  };
}

const socketOf = (client: ClientBase) =>
  (client as ClientBase & { connection: { stream: Socket } }).connection.stream;

/**
 * Sends a probe; a refusal also counts as an answer.
 * @returns true also if the probe is inconclusive
 */
async function isAnswering(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'relata' });
  client.on('error', () => {});
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const lateAt = performance.now() + PROBE_MS + LATE_MS;
  const timer = setTimeout(() => resolve(performance.now() > lateAt), PROBE_MS);
  const connectAndQuery = async () => {
    await client.connect();
    await client.query('select 1');
  };
  connectAndQuery().then(
    () => resolve(true),
    (error: { severity?: string }) => resolve(error.severity !== undefined),
  );
  const answers = await promise;
  clearTimeout(timer);
  // The database answered, so the way in which this connection ends does not matter.
  if (answers) client.end().catch(() => {});
  else socketOf(client).destroy();
  return answers;
}
