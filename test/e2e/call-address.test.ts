/**
 * The address of a call at the real server: what the welcome, the credentials and the peer id say of the media listener,
 * and that a device that knows nothing else gets there. Source: calls-and-media.md; docs/media-protocol.md.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { askCredentials, mediaUrl } from '../support/call-actions.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { noOpenssl as skip, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

interface ToldAddresses {
  readonly welcome: string | null;
  readonly issuance: string | undefined;
  readonly peerId: string | null;
  readonly token: string;
}

async function start(t: Ending, ...overrides: string[]): Promise<TestServer> {
  const server = await startTestServer({ overrides });
  t.after(() => server.stop());
  return server;
}

async function toldBy(server: TestServer): Promise<ToldAddresses> {
  const controller = await server.controller('TESTDEVICE01');
  const { json, text } = await askCredentials(server);
  assert.equal(json.code, 0, text);
  await controller.close();
  const { peer_id: peerId, token, media_url: issuance } = json.data as Record<string, string | undefined>;
  return {
    welcome: controller.welcome.mediaUrl,
    issuance,
    peerId: new URL(peerId ?? '').searchParams.get('x_media'),
    token: token ?? '',
  };
}

test('the welcome and the credentials name the media listener, and a leg connects by nothing else', async (t) => {
  const server = await start(t);
  const told = await toldBy(server);
  const url = mediaUrl(server);
  assert.deepEqual([told.welcome, told.issuance, told.peerId], [url, url, null]);
  const leg = await DeviceLeg.connect({ url: told.issuance ?? '', token: told.token });
  leg.hangup();
  await leg.closed;
});

test('what is advertised is told instead, and by setting in the peer id, too', async (t) => {
  const url = 'wss://media.example';
  const server = await start(t, 'media.advertise=https://media.example/', 'calls.address_in_peer_id=true');
  const { welcome, issuance, peerId } = await toldBy(server);
  assert.deepEqual([welcome, issuance, peerId], [url, url, url]);
});

test(
  'a media listener with a certificate is told as wss, and a leg connects by that',
  { skip },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const { certFile, keyFile } = certificate;
    const tls = [`media.tls_cert_file=${certFile}`, `media.tls_key_file=${keyFile}`];
    const server = await start(t, ...tls, 'calls.address_in_peer_id=true');
    const { token, ...told } = await toldBy(server);
    const url = mediaUrl(server, 'wss');
    assert.deepEqual(told, { welcome: url, issuance: url, peerId: url });
    const leg = await DeviceLeg.connect({ url, token, tls: { ca: readFileSync(certFile) } });
    leg.hangup();
    await leg.closed;
  },
);

test('a server without a media process names none', async (t) => {
  const server = await start(t, 'media.process=none', 'calls.address_in_peer_id=true');
  const { token: _token, ...told } = await toldBy(server);
  assert.deepEqual(told, { welcome: null, issuance: undefined, peerId: null });
});
