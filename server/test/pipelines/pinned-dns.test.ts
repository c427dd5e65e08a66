// runs: deep
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Public addresses that exist only in the network of the test. */
const PUBLIC = ['93.184.216.34', '2606:2800:220:1::1'];

/** Makes a network whose names the test controls, then runs the remaining arguments. */
const SET_UP = `set -e
ip link set lo up
ip addr add ${PUBLIC[0]}/32 dev lo
ip -6 addr add ${PUBLIC[1]}/128 dev lo
mount --bind "$1/resolv.conf" /etc/resolv.conf
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
shift
exec "$@"`;

const folder = mkdtempSync(join(tmpdir(), 'relata-dns-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
writeFileSync(join(folder, 'nsswitch.conf'), 'hosts: files dns\n');
const runThere = (...command: readonly string[]) =>
  spawnSync('unshare', ['-rmn', 'sh', '-c', SET_UP, 'sh', folder, ...command], { encoding: 'utf8' });
const skip = runThere('true').status === 0 ? false : 'the system does not allow a network of its own';

interface Fetched {
  readonly url: string;
  readonly outcome: string;
  /** The queries to the name server: 1 for A, 28 for AAAA, and the name. */
  readonly asked: readonly string[];
}

function fetchThere(urls: readonly string[]): Fetched[] {
  const script = fileURLToPath(new URL('../support/dns-process.ts', import.meta.url));
  const { stdout, stderr } = runThere(process.execPath, script, ...PUBLIC, ...urls);
  const fetched = stdout.split('\n').filter(Boolean);
  assert.equal(fetched.length, urls.length, stderr);
  return fetched.map((line) => JSON.parse(line));
}

const urlOf = (name: string, path = '') => `http://${name}.example:8080/${path}`;
const askedOnce = (name: string) => [`1 ${name}.example`, `28 ${name}.example`];

test('a connection uses the address that was checked, whatever the name server answers next (§13.4)', {
  skip,
}, () => {
  const [plain, first, second, turned, elsewhere] = fetchThere([
    ...[urlOf('plain'), urlOf('rebind'), urlOf('rebind'), urlOf('turn', 'turn'), urlOf('plain', 'elsewhere')],
  ]);
  assert.match(plain?.outcome ?? '', /^plain\.example:8080 at (::ffff:93\.184\.216\.34|2606:2800:220:1::1)$/);
  assert.equal(first?.outcome, 'rebind.example:8080 at ::ffff:93.184.216.34');
  assert.deepEqual(first?.asked, askedOnce('rebind'), 'looked up once, and not again before the connection');
  for (const [name, later] of Object.entries({ rebind: second, turn: turned, loopback: elsewhere }))
    assert.match(later?.outcome ?? '', new RegExp(`^${name}.example is refused: it leads to a loopback`));
  assert.deepEqual(turned?.asked, [...askedOnce('turn'), ...askedOnce('turn')], 'and again for a redirect');

  const refused: Record<string, RegExp> = {
    loopback: /a loopback address/,
    mixed: /a loopback address/,
    'mixed-six': /a loopback address/,
    'mixed-four': /a private address/,
    mapped: /a loopback address|stands for an IPv4 address/,
    compatible: /a reserved address/,
    unspecified: /an unspecified/,
    'unspecified-six': /an unspecified/,
    nat64: /stands for an IPv4 address/,
    'six-to-four': /a 6to4 address/,
    metadata: /a link-local/,
    alias: /a loopback address/,
  };
  for (const { url, outcome } of fetchThere(Object.keys(refused).map((name) => urlOf(name)))) {
    const name = new URL(url).hostname.replace('.example', '');
    assert.match(outcome, /^[a-z0-9-]+\.example is refused: it leads to /);
    assert.match(outcome, refused[name] ?? /^$/);
  }

  const spelled = ['2130706433', '0177.0.0.1', '0x7f.1', '127。0。0。1', '0', '127.0.0.1..', '2130706433..'];
  const addresses = [...spelled, '[::1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', 'localhost', 'localhost.'];
  for (const { url, outcome, asked } of fetchThere(addresses.map((host) => `http://${host}:8080/`))) {
    assert.match(outcome, /is refused: it leads to an? (loopback|unspecified|address that stands)/, url);
    assert.deepEqual(asked, [], `${url} is an address, so no name is looked up`);
  }
});
