import { connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a database that drops the answers to chosen commits. */
export interface CommitLosingProxy {
  /** The address of the database through the proxy. */
  readonly url: string;
  /** The next transaction with a statement that contains this text is stored, but its answer is dropped. */
  loseNext(statement: string): void;
  /** The number of commits that were stored without an answer. */
  readonly lost: () => number;
  close(): void;
}

/** Statements are recognised by their text, so clients must not prepare them. */
export async function startCommitLosingProxy(databaseUrl: string): Promise<CommitLosingProxy> {
  const target = new URL(databaseUrl);
  const order: { statement: string | undefined; lost: number } = { statement: undefined, lost: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    for (const socket of [client, database]) sockets.add(socket);
    let stage: 'other' | 'wanted' | 'committing' = 'other';
    const end = () => {
      for (const socket of [client, database]) socket.destroy();
    };
    client.on('data', (bytes: Buffer) => {
      if (order.statement !== undefined && bytes.includes(order.statement)) {
        stage = 'wanted';
        order.statement = undefined;
      }
      if (stage === 'wanted' && bytes.includes('commit\0')) stage = 'committing';
      database.write(bytes);
    });
    database.on('data', (bytes: Buffer) => {
      if (stage !== 'committing') return void client.write(bytes);
      order.lost += 1;
      end();
    });
    for (const socket of [client, database]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    loseNext(statement) {
      order.statement = statement;
    },
    lost: () => order.lost,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
