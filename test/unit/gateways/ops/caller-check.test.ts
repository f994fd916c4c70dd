import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localOperator } from '../../../../src/model/audit.ts';
import { CallerCheck, type Caller } from '../../../../src/gateways/ops/caller-check.ts';

const operators = { identify: (token: string) => (token === 'the-token' ? localOperator : null) };
const check = new CallerCheck(operators, ['10.0.0.7', 'Ops.Example', '2001:db8::7']);

/** The status it is refused with; null: it may go on. */
function refusedAs(change: Partial<Caller>): number | null {
  const caller = { host: 'localhost:8090', origin: '', authorization: 'Bearer the-token', ...change };
  const admitted = check.admit(caller);
  return admitted.ok ? null : admitted.error.status;
}

test('loopback names, the host listened on and the configured names are known, any case, with and without a port', () => {
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8090', '[::1]:8090', '[::1]', '10.0.0.7:8090'])
    assert.equal(refusedAs({ host }), null, host);
  for (const host of ['ops.example', 'OPS.example:443', '[2001:db8::7]:8090'])
    assert.equal(refusedAs({ host }), null, host);
});

test('another name for this address is refused, whatever the token', () => {
  for (const host of [
    '',
    'evil.example',
    'localhost.evil.example',
    'localhost:x',
    '127.0.0.1.evil',
    '::1',
    '127.0.0.2',
  ])
    assert.equal(refusedAs({ host }), 403, host);
});

test('a page of the same host and port may ask, every other is refused', () => {
  assert.equal(refusedAs({ origin: 'http://localhost:8090' }), null);
  assert.equal(refusedAs({ origin: 'https://LOCALHOST:8090' }), null);
  for (const origin of [
    'null',
    'http://localhost:3000',
    'http://localhost',
    'http://evil.example',
    'localhost:8090',
  ])
    assert.equal(refusedAs({ origin }), 403, origin);
});

test('nothing but the whole token opens', () => {
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer the-toke',
    'Bearer the-token2',
    'bearer the-token',
    'the-token',
  ])
    assert.equal(refusedAs({ authorization }), 401, authorization);
});
