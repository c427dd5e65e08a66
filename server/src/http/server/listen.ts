import Fastify, { type FastifyInstance } from 'fastify';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** @returns the address @throws Error that names the settings, when it cannot be listened on */
export async function listenOn(
  server: Pick<FastifyInstance, 'listen'>,
  { host, port }: Address,
): Promise<string> {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    throw new Error(
      code === 'EADDRINUSE'
        ? `The address ${address} is taken: set RELATA_PORT, or stop what listens there.`
        : `The address ${address} cannot be listened on (${message}): set RELATA_HOST or RELATA_PORT.`,
    );
  }
}

/** For what must not be done in vain: whoever has the address may be the service itself. @throws Error as listenOn */
export async function refuseTakenAddress(address: Address): Promise<void> {
  const probe = Fastify();
  await listenOn(probe, address);
  await probe.close();
}
