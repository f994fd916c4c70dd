import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEntry, writeEntry } from '../../../../src/storage/registry/registry-entry.ts';
import { kindNames, listNames, type KindName } from '../../../../src/storage/registry/registry-kinds.ts';
import { sampleRegistry } from '../../../support/registry-entries.ts';

const samples = Object.fromEntries(
  kindNames.map((kind) => [kind, sampleRegistry[listNames[kind]][0] as Record<string, unknown>]),
) as Record<KindName, Record<string, unknown>>;

for (const kind of kindNames)
  test(`a ${kind} is written unchanged`, () => {
    const entry = parseEntry(kind, samples[kind]);
    assert.ok(entry.ok);
    assert.deepEqual(writeEntry(kind, entry.value), samples[kind]);
  });

for (const kind of kindNames)
  test(`a ${kind} with an unknown field names that field`, () => {
    assert.deepEqual(parseEntry(kind, { ...samples[kind], colour: 'red' }), {
      ok: false,
      error: { field: 'colour', reason: `is not a field of a ${kind}` },
    });
  });

test('a field cannot come from the prototype', () => {
  const json = JSON.parse('{"app_id":"1","name":"n","__proto__":{}}') as Record<string, unknown>;
  assert.deepEqual(parseEntry('application', json), {
    ok: false,
    error: { field: '__proto__', reason: 'is not a field of a application' },
  });
});

const optional: Partial<Record<KindName, string[]>> = {
  product: ['defaults'],
  credential: ['not_before', 'not_after', 'revoked'],
  device: ['expires_at', 'disabled'],
  webhook: ['types'],
  bridge: ['revoked'],
};
for (const kind of kindNames)
  for (const field of Object.keys(samples[kind])) {
    const { [field]: _, ...without } = samples[kind];
    const mayLack = optional[kind]?.includes(field) === true;
    test(`a ${kind} ${mayLack ? 'may lack' : 'must have'} ${field}`, () => {
      const entry = parseEntry(kind, without);
      if (mayLack) assert.ok(entry.ok);
      else assert.deepEqual(entry, { ok: false, error: { field, reason: 'is missing' } });
    });
  }

const wrong: readonly [KindName, string, unknown, RegExp][] = [
  ['device', 'device_id', '', /1-255 bytes/],
  ['device', 'device_id', 'é'.repeat(128), /1-255 bytes/],
  ['device', 'device_id', '\ud800', /1-255 bytes/],
  ['device', 'device_id', 7, /must be a string/],
  ['device', 'product_id', 'a\nb', /control characters/],
  ['device', 'secret', 'x'.repeat(1025), /1-1024 bytes/],
  ['device', 'secret', '***', /masked/],
  ['device', 'expires_at', 1.5, /Unix seconds/],
  ['device', 'expires_at', -1, /Unix seconds/],
  ['device', 'expires_at', '1', /Unix seconds/],
  ['device', 'expires_at', 1_795_163_400_000, /must be at most 253402300799.*not milliseconds/],
  ['device', 'expires_at', 253_402_300_800, /the year 9999/],
  ['credential', 'not_before', 1_795_163_400_000, /not milliseconds/],
  ['credential', 'not_after', 1_795_163_400_000, /not milliseconds/],
  ['device', 'disabled', 0, /true or false/],
  ['credential', 'access_key_id', 'a/b', /ASCII/],
  ['credential', 'permissions', ['wakeup'], /must hold only \*, connectivity:read/],
  ['credential', 'permissions', '*', /must be a list/],
  ['product', 'app_ids', Array.from({ length: 1001 }, () => 'a'), /at most 1000/],
  ['product', 'app_ids', [''], /application ids/],
  ['webhook', 'url', 'ftp://example.org/', /http or https/],
  ['webhook', 'url', 'https://', /http or https/],
  ['webhook', 'url', `https://example.org/${'x'.repeat(1024)}`, /1024/],
  ['webhook', 'types', ['Device Online'], /event types/],
  ['bridge', 'key_sha256', 'ab', /64 hex/],
];
for (const [kind, field, value, reason] of wrong)
  test(`a ${kind} whose ${field} is ${JSON.stringify(value).slice(0, 40)} is refused`, () => {
    const entry = parseEntry(kind, { ...samples[kind], [field]: value });
    assert.ok(!entry.ok);
    assert.equal(entry.error.field, field);
    assert.match(entry.error.reason, reason);
  });

const shortSecrets: readonly [KindName, string, string, string][] = [
  ['device', 'secret', 'fifteen letters', 'sixteen letters!'],
  ['device', 'secret', '😀'.repeat(15), '😀'.repeat(16)],
  ['credential', 'secret_key', 'x'.repeat(15), 'x'.repeat(16)],
  ['webhook', 'secret', `whsec_${'x'.repeat(15)}`, `whsec_${'x'.repeat(16)}`],
  ['webhook', 'secret', 'x'.repeat(15), 'x'.repeat(16)],
];
for (const [kind, field, short, enough] of shortSecrets)
  test(`a ${kind} whose ${field} is ${short} is refused, and accepted with one character more`, () => {
    const entry = parseEntry(kind, { ...samples[kind], [field]: short });
    assert.ok(!entry.ok);
    assert.equal(entry.error.field, field);
    assert.match(entry.error.reason, /16 characters.*registry\.allow_short_secrets/);
    assert.ok(parseEntry(kind, { ...samples[kind], [field]: short }, { allowShortSecrets: true }).ok);
    assert.ok(parseEntry(kind, { ...samples[kind], [field]: enough }).ok);
  });

test('no error quotes a secret', () => {
  const entry = parseEntry('device', { ...samples.device, secret: `the-secret${'x'.repeat(2000)}` });
  assert.ok(!entry.ok);
  assert.doesNotMatch(entry.error.reason, /the-secret/);
});

test('a device id may be any UTF-8, NUL and control characters included', () => {
  for (const deviceId of ['\0', 'a\0b', '\n', ' ', '😀', '𝒳'.repeat(63)])
    assert.ok(parseEntry('device', { ...samples.device, device_id: deviceId }).ok);
});

test("a bridge's key hash is kept in lower case", () => {
  const entry = parseEntry('bridge', { ...samples.bridge, key_sha256: 'AB'.repeat(32) });
  assert.ok(entry.ok);
  assert.equal(entry.value.keySha256, 'ab'.repeat(32));
});
