import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import {
  decodeLinkGreeting,
  decodeLinkMessage,
  linkVersion,
  readMediaMessage,
} from '../../../../src/protocol/media-link/link-message.ts';

const packr = new Packr({ useRecords: false });
const hello = { kind: 'hello', version: linkVersion, instance: 'media-1' };

test('the first message is a hello of our version, and no other one is', () => {
  const greeting = (value: unknown) => decodeLinkGreeting(packr.pack(value), readMediaMessage);
  assert.deepEqual(greeting(hello), { ok: true, value: hello });
  const stranger = { ok: false, error: 'does not speak the protocol of the link' };
  assert.deepEqual(greeting({ kind: 'heartbeat' }), stranger);
  assert.deepEqual(greeting(/(a+)+$/), stranger);
  assert.deepEqual(greeting({ kind: 'hello', version: 99, what: ['ever'] }), {
    ok: false,
    error: `speaks version 99 of the link, and this end version ${linkVersion}: run the same release on both`,
  });
  const again = decodeLinkMessage(packr.pack(hello), readMediaMessage);
  assert.deepEqual(again, { ok: false, error: 'sent hello twice' });
});

const hostile: Record<string, unknown> = {
  'no object': 'hello',
  'an object of another kind': { kind: 'reload-tls' },
  'an object of no kind': {},
  'a field too much': { kind: 'open', leg: 1, more: 1 },
  'a field too few': { kind: 'open' },
  'a leg that is no number': { kind: 'open', leg: '1' },
  'a leg that is not whole': { kind: 'open', leg: 1.5 },
  'a leg that is not finite': { kind: 'open', leg: Infinity },
  'a leg beyond what is counted': { kind: 'open', leg: 2n ** 63n },
  'a sign of life that is none': { kind: 'alive', leg: 1, by: 'luck' },
  'a text that is too long': { kind: 'admit-viewer', question: 1, ticket: 'x'.repeat(100_000) },
  'a negative count': {
    kind: 'tally',
    tally: { logins: [], frames: [['encoded', -1]], rebuilds: 0, frameSeconds: [] },
  },
  'a prototype': JSON.parse('{"__proto__":{"kind":"open","leg":1}}'),
};

for (const [name, value] of Object.entries(hostile))
  test(`${name} is no message`, () => {
    const read = decodeLinkMessage(packr.pack(value), readMediaMessage);
    assert.match(read.ok ? '' : read.error, /^sent an invalid message: /);
  });
