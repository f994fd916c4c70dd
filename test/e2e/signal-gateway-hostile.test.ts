/**
 * Peers that mean harm at the signal listener, of every kind we could think of, beside good sessions: none of the
 * good ones is lost, every heartbeat is seen and every message arrives. Source: signal-wire.md.
 */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { MessageId } from '../../src/model/ids.ts';
import { makeSignalListener } from '../support/signal-listener.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSignalSessions } from '../support/fake-device-sessions.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { encodeFrame, loginText, SignalPeer, upgradeRequest } from '../support/signal-peer.ts';
import { until } from '../support/event-loop.ts';

const goodSessions = 50;
const hostilesOfAKind = 25;

const clock = new DrivenClock();
const sessions = new FakeSignalSessions();
const telemetry = new FakeTelemetry();
const listener = makeSignalListener({ clock, sessions, telemetry });
let port = 0;
const timers: NodeJS.Timeout[] = [];

afterEach(() => {
  timers.splice(0).forEach(clearInterval);
  listener.close();
});

/** Each kind does its worst on a connection of its own, and says whether it is upgraded before. */
const kinds: readonly (readonly [string, 'upgraded' | 'plain', (peer: SignalPeer, i: number) => void])[] = [
  ['never logs in', 'upgraded', () => undefined],
  ['sends garbage', 'upgraded', ({ raw }, i) => raw.send(Buffer.alloc(300, i * 7 + 1))],
  ['sends a huge message', 'upgraded', ({ raw }) => raw.send(encodeFrame('x'.repeat(60_000)))],
  [
    'announces a huge frame',
    'upgraded',
    ({ raw }) => raw.send(Buffer.from('81ff00000000ffffffff01020304', 'hex')),
  ],
  [
    'never ends its message',
    'upgraded',
    ({ raw }) => {
      raw.send(encodeFrame('{', { fin: false }));
      for (let i = 0; i < 200; i++) raw.send(encodeFrame('x'.repeat(1000), { opcode: 0, fin: false }));
    },
  ],
  [
    'guesses a mac, over and over',
    'upgraded',
    ({ raw }) => {
      for (let i = 0; i < 20; i++) raw.send(encodeFrame(loginText('x'.repeat(32), 'good-1', `guess-${i}`)));
    },
  ],
  [
    'pings without end',
    'upgraded',
    ({ raw }) => {
      for (let i = 0; i < 500; i++) raw.send(encodeFrame('x'.repeat(125), { opcode: 9 }));
    },
  ],
  ['asks for half an upgrade', 'plain', ({ raw }) => raw.send(upgradeRequest().slice(0, -2))],
  ['speaks another protocol', 'plain', ({ raw }) => raw.send('RVL1 VEVTVA fixed 5 1 x\n\r\n\r\n')],
  [
    'drips its headers',
    'plain',
    ({ raw }) => {
      raw.send('GET /v1/signal HTTP/1.1\r\nX: ');
      timers.push(setInterval(() => raw.send('x'), 300));
    },
  ],
  [
    'asks for the wrong thing and goes on asking',
    'plain',
    ({ raw }) => {
      for (let i = 0; i < 50; i++) raw.send(upgradeRequest({ 'Sec-WebSocket-Protocol': null }));
    },
  ],
  [
    'sends headers without end',
    'plain',
    ({ raw }) => raw.send(`GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`),
  ],
];

async function hostile([, stage, worst]: (typeof kinds)[number], kind: number, i: number): Promise<RawPeer> {
  const raw = await RawPeer.connect(port, `127.0.${kind + 2}.${(i % 5) + 1}`);
  raw.socket.on('error', () => undefined);
  const peer = new SignalPeer(raw);
  if (stage === 'upgraded') await peer.upgrade();
  worst(peer, i);
  return raw;
}

test('hostile peers of every kind cost no good session, no heartbeat and no message', async () => {
  await listener.listen();
  ({ port } = listener.address);
  const names = Array.from({ length: goodSessions }, (_, i) => `good-${i}`);
  for (const name of names) sessions.secrets.set(name, 'device-secret');
  const good = await Promise.all(
    names.map((deviceId) =>
      SignalController.connect({
        url: `ws://127.0.0.1:${port}`,
        deviceId,
        secret: 'device-secret',
        autoAcknowledge: true,
      }),
    ),
  );
  let heartbeats = 0;
  const heartbeat = async (): Promise<void> => {
    heartbeats += 1;
    for (const one of good) one.heartbeat();
    await until(() => good.every(({ heartbeatAcks }) => heartbeatAcks === heartbeats));
  };

  const hostiles: RawPeer[] = [];
  for (const [kind, worst] of kinds.entries()) {
    const ofAKind = Array.from({ length: hostilesOfAKind }, (_, i) => hostile(worst, kind, i));
    hostiles.push(...(await Promise.all(ofAKind)));
    await heartbeat();
    clock.advance(500);
  }
  const answers = names.map((name) =>
    sessions.connection(name).deliver({ id: `to-${name}` as MessageId, name: 'hello', payload: {} }),
  );
  assert.deepEqual([...new Set(await Promise.all(answers))], ['acknowledged']);

  // Those that wait for our deadline, and then those that wait for the library's.
  clock.advance(11_000);
  await Promise.all(hostiles.map(({ gone }) => gone));
  await heartbeat();
  assert.equal(listener.sessionCount, goodSessions);
  assert.equal(listener.handshakeCount, 0);
  assert.deepEqual(sessions.ends, []);
  assert.equal(sessions.logins.length, goodSessions);
  for (const result of ['denied', 'malformed', 'timeout'])
    assert.ok(telemetry.count(`signal login ${result}`) >= hostilesOfAKind, result);

  await Promise.all(good.map((one) => one.close()));
  for (const { socket } of hostiles) socket.destroy();
  clock.advance(20_000);
  await until(() => listener.socketCount === 0);
});
