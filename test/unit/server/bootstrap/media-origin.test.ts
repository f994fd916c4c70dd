import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaOrigin } from '../../../../src/server/bootstrap/media-origin.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { parseListenAddress } from '../../../../src/server/config/settings-values.ts';

function originOf(address: string, ...overrides: string[]): string {
  const parsed = parseListenAddress(address);
  assert.ok(parsed !== null);
  return mediaOrigin(loadSettings({ env: {}, overrides }), parsed);
}

test('links lead to where the media listener is, or to what is advertised', () => {
  assert.equal(originOf('127.0.0.1:40001'), 'http://127.0.0.1:40001');
  assert.equal(originOf('0.0.0.0:40001'), 'http://127.0.0.1:40001');
  assert.equal(originOf('[::]:40001'), 'http://[::1]:40001');
  const tls = ['media.tls_cert_file=cert.pem', 'media.tls_key_file=key.pem'];
  assert.equal(originOf('media.example:8083', ...tls), 'https://media.example:8083');
  const advertised = 'media.advertise=https://media.example/';
  assert.equal(originOf('127.0.0.1:40001', advertised), 'https://media.example');
});
