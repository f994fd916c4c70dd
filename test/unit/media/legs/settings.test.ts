import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaLegsDefaults } from '../../../../src/media/legs/settings.ts';
import { mediaProcessSettings } from '../../../../src/server/config/gateway-settings.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';

test('the media section says by default what the listener takes for its defaults', () => {
  assert.deepEqual(mediaProcessSettings(loadSettings({ env: {}, overrides: [] })).legs, mediaLegsDefaults);
});

test("where it listens, what it holds and its certificate are the section's", () => {
  const overrides = [
    'media.listen=[::1]:9000',
    'media.legs_max=7',
    'media.handshakes_max=8',
    'media.tls_cert_file=c.pem',
    'media.tls_key_file=k.pem',
  ];
  assert.deepEqual(mediaProcessSettings(loadSettings({ env: {}, overrides })).legs, {
    host: '::1',
    port: 9000,
    legsMax: 7,
    handshakesMax: 8,
    handshakesPerAddressMax: 250,
    tls: { certFile: 'c.pem', keyFile: 'k.pem' },
  });
});
