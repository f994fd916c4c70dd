/** The signal listener over TLS, and a reload of its certificate. Source: signal-wire.md. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { MessageId } from '../../src/model/ids.ts';
import type { SignalListener } from '../../src/gateways/signal/listener.ts';
import { makeSignalListener } from '../support/signal-listener.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSignalSessions } from '../support/fake-device-sessions.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { SignalPeer } from '../support/signal-peer.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { until } from '../support/event-loop.ts';

const skip = noOpenssl;
const certificate = new TestCertificate(temporaryDirectory({ after }));

let clock: DrivenClock;
let sessions: FakeSignalSessions;
let telemetry: FakeTelemetry;
let listener: SignalListener;
const peers: RawPeer[] = [];
const controllers: SignalController[] = [];

beforeEach(() => {
  clock = new DrivenClock();
  sessions = new FakeSignalSessions();
  telemetry = new FakeTelemetry();
});

afterEach(() => {
  listener.close();
  for (const { socket } of peers.splice(0)) socket.destroy();
  for (const controller of controllers.splice(0)) void controller.terminate();
});

function newListener(): SignalListener {
  return makeSignalListener({ clock, sessions, telemetry }, certificate.settings);
}

async function listen(): Promise<void> {
  certificate.use('first');
  listener = newListener();
  await listener.listen();
}

async function controller(trusted = 'first'): Promise<SignalController> {
  const made = await SignalController.connect({
    url: `wss://127.0.0.1:${listener.address.port}`,
    deviceId: 'TESTDEVICE01',
    secret: 'device-secret',
    tls: { ca: certificate.certificateOf(trusted) },
  });
  controllers.push(made);
  return made;
}

async function delivers(to: SignalController, id: string): Promise<string> {
  const result = sessions.connection().deliver({ id: id as MessageId, name: 'hello', payload: {} });
  to.acknowledge((await to.nextMessage()).id);
  return result;
}

test('a controller logs in, receives a message and leaves over TLS', { skip }, async () => {
  await listen();
  const online = await controller();
  assert.equal(await delivers(online, 'm'), 'acknowledged');
  assert.deepEqual(await online.bye('done'), { code: 1000, reason: 'bye' });
  assert.equal((await sessions.endedSessions())[0]?.reason, 'bye');
});

test('TLS 1.1 is refused', { skip }, async () => {
  await listen();
  const socket = connectTls({
    host: '127.0.0.1',
    port: listener.address.port,
    rejectUnauthorized: false,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  });
  await assert.rejects(
    new Promise((secured, failed) => socket.once('secureConnect', secured).once('error', failed)),
  );
});

test('a peer that speaks no TLS is closed', { skip }, async () => {
  await listen();
  const plain = new SignalPeer(await RawPeer.connect(listener.address.port));
  peers.push(plain.raw);
  await assert.rejects(plain.upgrade(), /no upgrade/);
  assert.equal(telemetry.counts.size, 0);
});

test('new connections see the reloaded certificate, and existing ones continue', { skip }, async () => {
  await listen();
  const { port } = listener.address;
  const older = await controller('first');
  assert.equal(await certificateShown(listener.address.port), 'first');
  certificate.use('second');
  listener.reloadTls();
  assert.equal(await certificateShown(listener.address.port), 'second');
  assert.equal(listener.address.port, port);
  older.heartbeat();
  assert.equal(await delivers(older, 'm-1'), 'acknowledged');
  const newer = await controller('second');
  assert.deepEqual(await older.closed, { code: 4409, reason: 'replaced' });
  assert.equal(await delivers(newer, 'm-2'), 'acknowledged');
  assert.deepEqual(sessions.ends, []);
});

test('a login that began before a reload completes after it', { skip }, async () => {
  await listen();
  const connecting = controller('first');
  await until(() => listener.handshakeCount > 0);
  certificate.use('second');
  listener.reloadTls();
  assert.equal((await connecting).welcome.epoch, 1);
});

test('a drain ends sessions of all certificates', { skip }, async () => {
  await listen();
  sessions.secrets.set('other', 'device-secret');
  const older = await controller('first');
  certificate.use('second');
  listener.reloadTls();
  const left = listener.drain(100, 1000);
  clock.advance(100);
  assert.equal(await left, 0);
  assert.deepEqual(await older.closed, { code: 4503, reason: 'draining' });
  await assert.rejects(controller('second'), { code: 'ECONNREFUSED' });
});
