/** The media listener over TLS, and a reload of its certificate. Source: running.md, Processes and listeners. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, beforeEach, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { legRequestMsMax } from '../../src/model/limits.ts';
import type { MediaLegsSettings, MediaListener } from '../../src/media/legs/listener.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import type { FakeLegService } from '../support/fake-leg-service.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import type { MediaPeer } from '../support/media-peer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { until } from '../support/event-loop.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl as skip, TestCertificate } from '../support/test-certificate.ts';

const certificate = new TestCertificate(temporaryDirectory({ after }));
let scene: MediaListenerScene;
let clock: DrivenClock;
let service: FakeLegService;
let listener: MediaListener;

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

test('a leg is admitted, notified and closed over TLS', { skip }, async () => {
  await listen();
  const device = await connect();
  const { leg } = await service.leg();
  leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ringing', reason: null });
  leg.close('ended');
  assert.match((await device.nextText()) ?? '', /ringing/);
  assert.equal(await device.closed, '1000 ended');
});

test('unfinished TLS handshakes are closed for a new connection, but legs are not', { skip }, async () => {
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

test('new connections see the reloaded certificate, and existing ones continue', { skip }, async () => {
  await listen();
  const [older, { port }] = [await connect('first'), scene];
  certificate.use('second');
  listener.reloadTls();
  assert.equal(await certificateShown(scene.port), 'second');
  assert.equal(scene.port, port);
  await older.ping();
  const newer = await connect('second');
  (await service.leg(1)).leg.close('replaced');
  assert.equal(await older.closed, '4409 replaced');
  await newer.ping();
  assert.equal(listener.legCount, 1);
});

test('the TLS handshake and the request share a deadline of 10 s', { skip }, async () => {
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
