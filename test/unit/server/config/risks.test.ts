import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportRisks } from '../../../../src/server/config/risks.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { FakeLog } from '../../../support/fakes.ts';

function risksOf(...overrides: string[]): string[] {
  const log = new FakeLog();
  reportRisks(loadSettings({ env: {}, overrides }), log);
  return log.lines.map(({ message }) => message);
}

test('the defaults are no risk', () => {
  assert.deepEqual(risksOf(), []);
});

test('a signal listener beyond loopback without TLS is told, and with it is not', () => {
  const told = 'controllers connect from beyond this machine without TLS';
  assert.deepEqual(risksOf('signal.listen=0.0.0.0:8082'), [told]);
  const tls = ['signal.tls_cert_file=/c.pem', 'signal.tls_key_file=/k.pem'];
  assert.deepEqual(risksOf('signal.listen=0.0.0.0:8082', ...tls), []);
});

test('an API beyond loopback without TLS is told, and with it is not', () => {
  assert.deepEqual(risksOf('api.listen=0.0.0.0:8080'), [
    'signed calls come from beyond this machine without TLS',
  ]);
  const tls = ['api.tls_cert_file=/c.pem', 'api.tls_key_file=/k.pem'];
  assert.deepEqual(risksOf('api.listen=0.0.0.0:8080', ...tls), []);
});

test('a media listener beyond loopback without TLS, and development keys, are told', () => {
  const told = 'tokens and bridge keys come from beyond this machine without TLS';
  assert.deepEqual(risksOf('media.listen=0.0.0.0:8083'), [told]);
  const tls = ['media.tls_cert_file=/c.pem', 'media.tls_key_file=/k.pem'];
  assert.deepEqual(risksOf('media.listen=0.0.0.0:8083', ...tls), []);
  const [keys = ''] = risksOf('media.bridge_keys=one,two');
  assert.match(keys, /development keys/);
});

test('a sleep server that controllers are told and cannot reach is told', () => {
  const [told = ''] = risksOf('sleep.listen=0.0.0.0:8081');
  assert.match(told, /set sleep\.advertise/);
  assert.deepEqual(risksOf('sleep.listen=0.0.0.0:8081', 'sleep.advertise=sleep.example:8081'), []);
});

test('secrets that may be short are told', () => {
  const [told = ''] = risksOf('registry.allow_short_secrets=true');
  assert.match(told, /registry\.allow_short_secrets/);
});

test('an open ops listener and webhooks to private addresses are told', () => {
  assert.equal(risksOf('ops.listen=0.0.0.0:8090').length, 1);
  assert.equal(risksOf('webhooks.allow_local=true').length, 1);
});
