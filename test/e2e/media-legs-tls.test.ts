/** The media listener with a certificate, and with another one later. Source: running.md, Processes and listeners. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { legRequestMsMax } from '../../src/model/limits.ts';
import type { MediaLegsSettings, MediaListener } from '../../src/media/legs/listener.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import type { FakeLegService } from '../support/fake-leg-service.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { downlinkPath, type MediaPeer, plainRequest } from '../support/media-peer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { until } from '../support/event-loop.ts';
import { noOpenssl as skip, TestCertificate } from '../support/test-certificate.ts';

let directory: string;
let certificate: TestCertificate;
let scene: MediaListenerScene;
let clock: DrivenClock;
let service: FakeLegService;
let listener: MediaListener;

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'reveille-media-tls-'));
  certificate = new TestCertificate(directory);
});
after(() => rmSync(directory, { recursive: true }));

beforeEach(() => {
  scene = new MediaListenerScene();
  ({ clock, service } = scene);
});
afterEach(() => scene.close());

function tls(): Pick<MediaLegsSettings, 'tls'> {
  const { certFile, keyFile } = certificate;
  return { tls: { certFile, keyFile } };
}

async function listen(): Promise<void> {
  certificate.use('first');
  await scene.listen(tls());
  ({ listener } = scene);
}

function connect(trusted = 'first'): Promise<MediaPeer> {
  return scene.connect({ ca: certificate.certificateOf(trusted) });
}

/** The name in the certificate that a newcomer is shown. */
async function certificateShown(): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port: scene.port, rejectUnauthorized: false });
  await new Promise((secured, failed) => socket.once('secureConnect', secured).once('error', failed));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN;
}

test('a leg is let in, told and closed over TLS', { skip }, async () => {
  await listen();
  const device = await connect();
  const { leg } = await service.leg();
  leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ringing', reason: null });
  leg.close('ended');
  assert.match((await device.nextText()) ?? '', /ringing/);
  assert.equal(await device.closed, '1000 ended');
});

test('half TLS handshakes of many addresses yield to a newcomer, and a leg does not', { skip }, async () => {
  certificate.use('first');
  await scene.listen({ ...tls(), handshakesMax: 4, handshakesPerAddressMax: 2 });
  const leg = await connect();
  const crowd: RawPeer[] = [];
  for (let i = 0; i < 8; i++) {
    const peer = await RawPeer.connect(scene.port, `127.0.4.${1 + (i % 2)}`);
    peer.send(Buffer.from('16030102000100', 'hex'));
    crowd.push(peer);
  }
  await until(() => scene.listener.socketCount === 5);
  await connect();
  await leg.ping();
  assert.equal(scene.listener.legCount, 2);
  for (const { socket } of crowd) socket.destroy();
});

test('a person watches over TLS until the call ends', { skip }, async () => {
  await listen();
  const ca = certificate.certificateOf('first');
  const socket = connectTls({ host: '127.0.0.1', port: scene.port, ca });
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.write(plainRequest(`GET ${downlinkPath}?ticket=good-ticket`));
  const { leg } = await service.leg();
  leg.close('ended');
  while (!received.endsWith('0\r\n\r\n')) await new Promise((turned) => setImmediate(turned));
  assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  socket.destroy();
});

test(
  'a reload serves the new certificate to newcomers, and those who are here live on',
  { skip },
  async () => {
    await listen();
    const [older, { port }] = [await connect('first'), scene];
    certificate.use('second');
    listener.reloadTls();
    assert.equal(await certificateShown(), 'second');
    assert.equal(scene.port, port);
    await older.ping();
    const newer = await connect('second');
    (await service.leg(1)).leg.close('replaced');
    assert.equal(await older.closed, '4409 replaced');
    await newer.ping();
    assert.equal(listener.legCount, 1);
  },
);

test('the handshake of TLS and the request have 10 s together', { skip }, async () => {
  await listen();
  const silent = await scene.rawPeer();
  while (listener.socketCount < 1) await new Promise((turned) => setImmediate(turned));
  clock.advance(legRequestMsMax - 1000);
  const secured = connectTls({ host: '127.0.0.1', port: scene.port, rejectUnauthorized: false });
  secured.on('error', () => undefined);
  await once(secured, 'secureConnect');
  const closed = new Promise((resolve) => secured.once('close', resolve));
  clock.advance(1000);
  await silent.gone;
  secured.write('GET / HT');
  clock.advance(legRequestMsMax - 1000);
  await closed;
});
