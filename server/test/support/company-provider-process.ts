import { createInterface } from 'node:readline';
import { startCompanyProvider } from './company-provider.ts';

/**
 * The provider for browser tests. It prints its address and client, and then reads the return address and the next
 * user.
 */
const provider = await startCompanyProvider();
const { issuer, clientId, clientSecret } = provider;
process.stdout.write(`${JSON.stringify({ issuer, clientId, clientSecret })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { returnUrl, person } = JSON.parse(line);
  provider.people.set('person', person);
  provider.signInAs('person');
  provider.register(returnUrl);
}
await provider.close();
