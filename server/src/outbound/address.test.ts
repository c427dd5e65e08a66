// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { allowAddresses, refuseAddress } from './address.ts';

const nothing = allowAddresses([]);
const isRefused = (address: string, allows = nothing) => refuseAddress(address, allows) !== undefined;

const refused: Record<string, string[]> = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '0:0:0:0:0:0:0:0'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'link-local, with the metadata of clouds': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1'],
  'shared by carriers': ['100.64.0.1', '100.100.100.200', '100.127.255.255'],
  documentation: ['192.0.2.1', '198.51.100.7', '203.0.113.9', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['192.0.0.1', '192.0.0.192', '192.88.99.1', '240.0.0.1', '255.255.255.255', '4000::1', '5f00::1'],
  'a configuration service of a cloud': ['168.63.129.16'],
  'unique local': ['fc00::1', 'fd00:ec2::254', 'fdff::1'],
  'site-local': ['fec0::1', 'feff::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '0:0:0:0:0:ffff:10.0.0.1'],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::10.0.0.1', '64:ff9b:1:ffff::1'],
  '6to4': ['2002:7f00:1::1', '2002:808:808::1'],
  Teredo: ['2001::1', '2001:0:7f00:1::80ff:fffe'],
  ORCHID: ['2001:10::1', '2001:20::1'],
  discard: ['100::1', '100:0:0:1::1'],
  'of one network interface': ['fe80::1%eth0', '2606:4700::1%1'],
  'no address': ['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '1.2.3.4.5', '::g'],
};
for (const [kind, addresses] of Object.entries(refused)) {
  test(`refuseAddress refuses an address that is ${kind}`, () => {
    for (const address of addresses) assert.ok(isRefused(address), address);
  });
}

test('globally reachable unicast addresses are allowed', () => {
  const open = [
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.1.1',
  ];
  const openV6 = [
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '2001:4860:4860::8888',
    '2400:cb00::1',
    '2003::1',
  ];
  for (const address of [...open, ...openV6, '100.63.255.255', '100.128.0.0', '223.255.255.255'])
    assert.equal(refuseAddress(address, nothing), undefined, address);
});

test('an allowed range allows only its own addresses', () => {
  const allows = allowAddresses(['10.1.0.0/16', '127.0.0.1', 'fd12::/16']);
  for (const address of ['10.1.2.3', '127.0.0.1', 'fd12::7']) assert.ok(!isRefused(address, allows), address);
  for (const address of ['10.2.0.1', '127.0.0.2', 'fd13::7', '::1'])
    assert.ok(isRefused(address, allows), address);
});

test('a range of translated addresses allows only those that stand for a public or allowed address', () => {
  const translating = ['64:ff9b::/96', '2002::/16', '2001::/32'];
  const allows = allowAddresses(translating);
  for (const address of ['64:ff9b::8.8.8.8', '2002:808:808::1', '2001:0:1::f7f7:f7f7'])
    assert.ok(!isRefused(address, allows), address);
  for (const address of ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '2002:a00:1::1', '2001:0:1::80ff:fffe'])
    assert.ok(isRefused(address, allows), address);
  const alsoPrivate = allowAddresses([...translating, '10.0.0.0/8']);
  assert.ok(!isRefused('64:ff9b::10.1.2.3', alsoPrivate));
  assert.ok(isRefused('64:ff9b::127.0.0.1', alsoPrivate));
});

test('an invalid range stops the start', () => {
  for (const range of [
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    'example.com',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '1.2.3.4/-1',
  ])
    assert.throws(() => allowAddresses([range]), /nor a CIDR range/, range);
});

test('a refused IPv4 address is also refused in each of its IPv6 forms', () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const allows = allowAddresses(['::ffff:0:0/96', '64:ff9b::/96', '2002::/16']);
  fc.assert(
    fc.property(fc.tuple(byte, byte, byte, byte), (bytes) => {
      const plain = bytes.join('.');
      const hex = (offset: number) => ((bytes[offset] ?? 0) * 256 + (bytes[offset + 1] ?? 0)).toString(16);
      for (const form of [`::ffff:${plain}`, `64:ff9b::${plain}`, `2002:${hex(0)}:${hex(2)}::1`]) {
        assert.ok(isRefused(form), form);
        assert.equal(isRefused(form, allows), isRefused(plain), form);
      }
    }),
  );
});
