/** The signal listener with a certificate, and with another one later. Source: signal-wire.md. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { MessageId } from '../../src/model/ids.ts';
import { SignalListener } from '../../src/gateways/signal/listener.ts';
import { signalGatewayDefaults } from '../support/listener-defaults.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSignalSessions } from '../support/fake-signal-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { SignalPeer } from '../support/signal-peer.ts';

const skip = spawnSync('openssl', ['version']).status === 0 ? false : 'no openssl here to make a certificate';

let directory: string;
let clock: DrivenClock;
let sessions: FakeSignalSessions;
let telemetry: FakeTelemetry;
let listener: SignalListener;
const peers: RawPeer[] = [];
const controllers: SignalController[] = [];

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'reveille-tls-'));
  if (skip) return;
  for (const name of ['first', 'second']) makeCertificate(name);
});
after(() => rmSync(directory, { recursive: true }));

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

function path(name: string): string {
  return join(directory, name);
}

function makeCertificate(name: string): void {
  const files = ['-keyout', path(`${name}.key`), '-out', path(`${name}.crt`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
}

function useCertificate(name: string): void {
  copyFileSync(path(`${name}.crt`), path('current.crt'));
  copyFileSync(path(`${name}.key`), path('current.key'));
}

function newListener(): SignalListener {
  return new SignalListener(
    {
      ...signalGatewayDefaults,
      port: 0,
      tls: { certFile: path('current.crt'), keyFile: path('current.key') },
    },
    { clock, sessions, telemetry, log: new FakeLog(), sleepServers: () => [], otherSockets: () => 0 },
  );
}

async function listen(): Promise<void> {
  useCertificate('first');
  listener = newListener();
  await listener.listen();
}

async function controller(trusted = 'first'): Promise<SignalController> {
  const made = await SignalController.connect({
    url: `wss://127.0.0.1:${listener.address.port}`,
    deviceId: 'TESTDEVICE01',
    secret: 'device-secret',
    ca: readFileSync(path(`${trusted}.crt`)),
    clock,
  });
  controllers.push(made);
  return made;
}

/** The name in the certificate that a newcomer is shown. */
async function certificateShown(): Promise<string> {
  const { port } = listener.address;
  const socket: TLSSocket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await new Promise((secured, failed) => socket.once('secureConnect', secured).once('error', failed));
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN;
}

async function delivers(to: SignalController, id: string): Promise<string> {
  const result = sessions.connection().deliver({ id: id as MessageId, name: 'hello', payload: {} });
  to.acknowledge((await to.nextMessage()).id);
  return result;
}

test('a controller logs in, is sent a message and leaves over TLS', { skip }, async () => {
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

test(
  'a reload serves the new certificate to newcomers, and those who are here live on',
  { skip },
  async () => {
    await listen();
    const { port } = listener.address;
    const older = await controller('first');
    assert.equal(await certificateShown(), 'first');
    useCertificate('second');
    listener.reloadTls();
    assert.equal(await certificateShown(), 'second');
    assert.equal(listener.address.port, port);
    older.heartbeat();
    assert.equal(await delivers(older, 'm-1'), 'acknowledged');
    const newer = await controller('second');
    assert.deepEqual(await older.closed, { code: 4409, reason: 'replaced' });
    assert.equal(await delivers(newer, 'm-2'), 'acknowledged');
    assert.deepEqual(sessions.ends, []);
  },
);

test('a login begun under one certificate is finished under another', { skip }, async () => {
  await listen();
  const connecting = controller('first');
  await new Promise((turned) => setImmediate(turned));
  while (listener.handshakeCount === 0) await new Promise((turned) => setImmediate(turned));
  useCertificate('second');
  listener.reloadTls();
  assert.equal((await connecting).welcome.epoch, 1);
});

test('a drain ends the sessions of every certificate there was', { skip }, async () => {
  await listen();
  sessions.secrets.set('other', 'device-secret');
  const older = await controller('first');
  useCertificate('second');
  listener.reloadTls();
  const left = listener.drain(100, 1000);
  clock.advance(100);
  assert.equal(await left, 0);
  assert.deepEqual(await older.closed, { code: 4503, reason: 'draining' });
  await assert.rejects(controller('second'), { code: 'ECONNREFUSED' });
});

const badFiles: readonly (readonly [string, () => void])[] = [
  ['no certificate', () => writeFileSync(path('current.crt'), 'no certificate')],
  ["another's key", () => copyFileSync(path('second.key'), path('current.key'))],
  ['a file that is gone', () => rmSync(path('current.crt'))],
];
for (const [name, spoil] of badFiles)
  test(`${name} is refused at the start, and changes nothing at a reload`, { skip }, async () => {
    await listen();
    const online = await controller();
    spoil();
    assert.throws(() => listener.reloadTls());
    assert.throws(newListener);
    assert.equal(await certificateShown(), 'first');
    assert.equal(await delivers(online, 'm'), 'acknowledged');
    useCertificate('second');
    listener.reloadTls();
    assert.equal(await certificateShown(), 'second');
  });

test('a reload of files that have not changed goes on with the same certificate', { skip }, async () => {
  await listen();
  listener.reloadTls();
  assert.equal(await certificateShown(), 'first');
});
