import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseAddress, specialRange } from '../../../../src/webhooks/http/special-address.ts';

const special = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '4000::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'backend.example',
  '127.0.0.1:80',
];

for (const address of special)
  test(`a webhook may not go to "${address}"`, () => {
    assert.notEqual(specialRange(address), null);
    assert.notEqual(refuseAddress(address, false), null);
    assert.equal(refuseAddress(address, true), null, 'unless the setting says so');
  });

/** Who listens there, and every form in which the address can be written. */
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
  test(`no webhook goes to the metadata of ${whose}, whatever the setting says`, () => {
    for (const address of addresses)
      for (const allowLocal of [false, true])
        assert.match(
          refuseAddress(address, allowLocal) ?? 'allowed',
          /tells machines their secrets/,
          address,
        );
  });

for (const neighbour of [
  '168.63.129.15',
  '168.63.129.17',
  '100.100.100.199',
  'fd00:ec3::254',
  'fd20:ce::253',
  '2001:db8::a83f:8110',
])
  test(`the setting still lets a webhook go to ${neighbour}`, () => {
    assert.equal(refuseAddress(neighbour, true), null);
  });

for (const address of [
  '1.1.1.1',
  '168.63.129.17',
  '2606:4700::a9fe:a9fe',
  '8.8.8.8',
  '::ffff:8.8.8.8',
  '172.32.0.1',
  '2606:4700:4700::1111',
  '2a00:1450::1',
])
  test(`a webhook may go to ${address}`, () => {
    assert.equal(specialRange(address), null);
    assert.equal(refuseAddress(address, false), null);
  });

test('the refusal names the address, what is special about it, and the setting', () => {
  const refusal = refuseAddress('::ffff:10.0.0.1', false);
  assert.match(refusal ?? '', /^::ffff:10\.0\.0\.1 .*private.*webhooks\.allow_local/);
});
