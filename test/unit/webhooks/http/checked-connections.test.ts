import assert from 'node:assert/strict';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { LookupAddress } from 'node:dns';
import {
  checkedLookup,
  refuseAddress,
  SystemNames,
  type HostAddress,
  type NameResolver,
} from '../../../../src/webhooks/http/checked-connections.ts';

const special = [
  '',
  ...(
    '0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 172.16.0.1 172.31.255.255 192.0.0.8 ' +
    '192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 ' +
    '255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 ' +
    '64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 4000::1 fc00::1 fd12:3456::1 fe80::1 ' +
    'fe80::1%eth0 fec0::1 ff02::1 backend.example 127.0.0.1:80'
  ).split(' '),
];

test('a special address is rejected unless the setting allows it', () => {
  for (const address of special) {
    assert.match(refuseAddress(address, false) ?? '', /is a special address/, address);
    assert.equal(refuseAddress(address, true), null, address);
  }
});

/** Clouds, with their metadata addresses in every notation. */
const metadata: Readonly<Record<string, readonly string[]>> = {
  'every cloud': ['169.254.169.254', '::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '0xa9.0xfe.0xa9.0xfe'],
  'AWS, for containers': ['169.254.170.2', '169.254.170.23', 'fd00:ec2::23'],
  'AWS over IPv6': ['fd00:ec2::254', 'fd00:0ec2:0:0::254'],
  Azure: ['168.63.129.16', '::ffff:168.63.129.16', '::ffff:a83f:8110', '2822734096'],
  Alibaba: ['100.100.100.200', '::ffff:100.100.100.200'],
  Oracle: ['192.0.0.192', '::ffff:192.0.0.192'],
  'Google over IPv6': ['fd20:ce::254'],
  Scaleway: ['169.254.42.42', 'fd00:42::42'],
  Tencent: ['169.254.0.23'],
  'OpenStack over IPv6': ['fe80::a9fe:a9fe', 'fe80::a9fe:a9fe%eth0'],
  'Azure behind NAT64': ['64:ff9b::a83f:8110', '64:ff9b:1::a83f:8110'],
  'Azure behind 6to4': ['2002:a83f:8110::1'],
  'Azure behind Teredo': ['2001:0:0808:0808::57c0:7eef', '2001:0:a83f:8110::f7f7:f7f7'],
  'Azure in the old form': ['::168.63.129.16', '::a83f:8110'],
};

for (const [whose, addresses] of Object.entries(metadata))
  test(`the metadata addresses of ${whose} are rejected, whatever the setting`, () => {
    for (const address of addresses)
      for (const allowLocal of [false, true])
        assert.match(refuseAddress(address, allowLocal) ?? 'allowed', /cloud metadata address/, address);
  });

test('the setting allows the addresses next to the metadata addresses', () => {
  for (const neighbour of '168.63.129.15 168.63.129.17 100.100.100.199 fd00:ec3::254 fd20:ce::253 2001:db8::a83f:8110'.split(
    ' ',
  ))
    assert.equal(refuseAddress(neighbour, true), null, neighbour);
});

test('any other address is allowed', () => {
  for (const address of (
    '1.1.1.1 168.63.129.17 2606:4700::a9fe:a9fe 8.8.8.8 ::ffff:8.8.8.8 172.32.0.1 2606:4700:4700::1111 ' +
    '2a00:1450::1'
  ).split(' '))
    assert.equal(refuseAddress(address, false), null, address);
});

test('the refusal names the address, its range and the setting', () => {
  const refusal = refuseAddress('::ffff:10.0.0.1', false);
  assert.match(refusal ?? '', /^::ffff:10\.0\.0\.1 .*private.*webhooks\.allow_local/);
});

class ScriptedNames implements NameResolver {
  readonly asked: string[] = [];
  readonly #answers: Readonly<Record<string, readonly string[] | Error>>;

  constructor(answers: Readonly<Record<string, readonly string[] | Error>>) {
    this.#answers = answers;
  }

  async resolve(host: string): Promise<readonly HostAddress[]> {
    this.asked.push(host);
    const answer = this.#answers[host] ?? [];
    if (answer instanceof Error) throw answer;
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  }
}

function lookupOf(names: NameResolver, allowLocal = false): (host: string) => Promise<LookupAddress[]> {
  const lookup = promisify(checkedLookup(names, allowLocal)) as (
    host: string,
    options: { all: true },
  ) => Promise<LookupAddress[]>;
  return (host) => lookup(host, { all: true });
}

test('the lookup returns all resolved addresses', async () => {
  const names = new ScriptedNames({ 'good.example': ['8.8.8.8', '2606:4700::1111'] });
  assert.deepEqual(await lookupOf(names)('good.example'), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
});

test('one forbidden address rejects the host, at any position', async () => {
  const names = new ScriptedNames({ 'sly.example': ['8.8.8.8', '10.0.0.1'] });
  await assert.rejects(lookupOf(names)('sly.example'), /sly\.example: 10\.0\.0\.1 .*webhooks\.allow_local/);
  assert.equal((await lookupOf(names, true)('sly.example')).length, 2);
});

test('a host without an address and an unknown host are rejected', async () => {
  const names = new ScriptedNames({ 'dead.example': new Error('nobody knows') });
  await assert.rejects(lookupOf(names)('empty.example'), /empty\.example has no address/);
  await assert.rejects(lookupOf(names)('dead.example'), /nobody knows/);
});

test('concurrent lookups of one name are shared, and the next one resolves again', async () => {
  const names = new ScriptedNames({ 'good.example': ['8.8.8.8'] });
  const lookup = lookupOf(names);
  await Promise.all([lookup('good.example'), lookup('good.example')]);
  assert.deepEqual(names.asked, ['good.example']);
  await lookup('good.example');
  assert.equal(names.asked.length, 2);
});

test('localhost resolves to the loopback addresses without a name server', async () => {
  const names = new SystemNames();
  for (const host of ['localhost', 'LOCALHOST.', 'hook.localhost']) {
    const addresses = await names.resolve(host);
    assert.deepEqual(
      addresses.map(({ address }) => address),
      ['127.0.0.1', '::1'],
    );
  }
});
