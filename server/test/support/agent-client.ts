import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Connects an agent to `/mcp`. @param query such as `?projectId=1`; needed only with a key of several projects */
export async function connectAgent(address: string, key: string, query = ''): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${key}` };
  const url = new URL(`${address}/mcp${query}`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}
