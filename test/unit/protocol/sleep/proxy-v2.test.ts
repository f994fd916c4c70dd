import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyHeaderDecoder, type ProxyHeaderStep } from '../../../../src/protocol/sleep/proxy-v2.ts';

const signature = '0d0a0d0a000d0a515549540a';
/** 203.0.113.7:50000 to 192.0.2.1:8081, as in the protocol's text. */
const tcp4 = `${signature}2111000ccb007107c0000201c3501f91`;
const tcp6 = `${signature}2121002420010db800000000000000000000000720010db8000000000000000000000001c3501f91`;

function decode(hex: string, cut = 0): ProxyHeaderStep {
  const bytes = Buffer.from(hex, 'hex');
  const decoder = new ProxyHeaderDecoder();
  const first = decoder.feed(bytes.subarray(0, cut));
  return first.kind === 'incomplete' ? decoder.feed(bytes.subarray(cut)) : first;
}

function sourceOf(step: ProxyHeaderStep): string | null {
  assert(step.kind === 'header', `expected a header, not ${step.kind}`);
  return step.source;
}

test('an IPv4 header has the source', () => {
  assert.equal(sourceOf(decode(tcp4)), '203.0.113.7');
});

test('an IPv6 header has the source', () => {
  assert.equal(sourceOf(decode(tcp6)), '2001:db8:0:0:0:0:0:7');
});

test('a header cut at any offset has the same source', () => {
  for (const header of [tcp4, tcp6])
    for (let cut = 0; cut < header.length / 2; cut++)
      assert.equal(sourceOf(decode(header, cut)), sourceOf(decode(header)), `cut at ${cut}`);
});

test('bytes after the header are left for the next reader', () => {
  const step = decode(`${tcp4}52564c31`);
  assert.equal(step.kind === 'header' && step.rest.toString(), 'RVL1');
});

test('TLVs are skipped', () => {
  const step = decode(`${signature}21110011cb007107c0000201c3501f9104000261620a`);
  assert.equal(sourceOf(step), '203.0.113.7');
  assert.equal(step.kind === 'header' && step.rest.toString('hex'), '0a');
});

test("a balancer's own connection has no source", () => {
  assert.equal(sourceOf(decode(`${signature}20000000`)), null);
});

test('an unspecified, a UNIX and a datagram source have no address', () => {
  assert.equal(sourceOf(decode(`${signature}21000000`)), null);
  assert.equal(sourceOf(decode(`${signature}21310000`)), null);
  assert.equal(sourceOf(decode(`${signature}2112000ccb007107c0000201c3501f91`)), null);
});

const wrong: readonly [string, string][] = [
  ['a byte that is not of the signature', '0d0a0d0a000d0a515549540b2111000c'],
  ['a login line', Buffer.from('RVL1 ').toString('hex')],
  ['version 1 of the protocol', Buffer.from('PROXY TCP4 ').toString('hex')],
  ['an unknown version', `${signature}11110000`],
  ['an unknown command', `${signature}22110000`],
  ['an unknown family', `${signature}21410000`],
  ['addresses cut short', `${signature}2111000bcb007107c0000201c3501f`],
  ['a header over the limit', `${signature}2111ffff`],
];
for (const [name, hex] of wrong)
  test(`${name} is refused at once`, () => {
    assert.deepEqual(decode(hex), { kind: 'invalid' });
  });
