import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeLengthFrame, LengthFrameDecoder } from '../../../src/lib/link/length-frame.ts';
import { packPlain, unpackPlain } from '../../../src/lib/plain-msgpack.ts';
import type { DeviceId, SessionId } from '../../../src/model/ids.ts';
import { linkHandshakeMsMax, linkMessageBytesMax, linkSilenceMsMax } from '../../../src/model/limits.ts';
import { encodeEdgeMessage } from '../../../src/protocol/edge-link/edge-codec.ts';
import {
  edgeLinkVersion,
  type BroughtSession,
  type SentByEdge,
} from '../../../src/protocol/edge-link/edge-message.ts';
import { DuplexPair } from '../../support/duplex-pair.ts';
import { EdgeScene, untilIdle } from '../../support/edge-scene.ts';

const hello = {
  kind: 'hello',
  version: edgeLinkVersion,
  name: 'edge-1',
  instance: 'instance-1',
  release: '1.2.3',
  pid: 4711,
  address: { host: '192.0.2.7', port: 8081 },
  advertise: [],
  maxSessions: 3,
} as const;

/** A hand-written peer of the gate. */
class RawEdge {
  readonly pair = new DuplexPair();
  /** Messages received from the core. */
  readonly read: unknown[] = [];

  constructor({ gate }: EdgeScene, isLocal = false) {
    gate.accept(this.pair.here, isLocal);
    const frames = new LengthFrameDecoder(linkMessageBytesMax);
    this.pair.there.on('error', () => undefined);
    this.pair.there.on('data', (chunk: Buffer) => {
      for (const step of frames.feed(chunk))
        if (step.kind === 'payload') this.read.push(unpackPlain(step.payload));
    });
  }

  async send(...messages: (SentByEdge | { readonly kind: 'raw'; readonly value: object })[]): Promise<void> {
    for (const message of messages) {
      const payload = message.kind === 'raw' ? packPlain(message.value) : encodeEdgeMessage(message);
      this.pair.there.write(encodeLengthFrame(payload));
    }
    await untilIdle();
  }

  get isCut(): boolean {
    return this.pair.here.destroyed;
  }
}

function messages({ core }: EdgeScene): string[] {
  return core.log.lines.map(({ fields, message }) =>
    'fault' in fields && typeof fields.fault === 'string' ? `${message}: ${fields.fault}` : message,
  );
}

test('a linked edge is listed with the facts of its hello, and the round trip of a probe', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge({ advertise: ['sleep.example:8081'] }).link();
  const facts = {
    name: 'edge-1',
    isLocal: true,
    state: 'linked',
    pid: 4711,
    release: '1.2.3',
    address: { host: '192.0.2.7', port: 0 },
    advertise: ['sleep.example:8081'],
    sessions: 0,
    linkDelayMs: null,
  };
  assert.deepEqual(scene.gate.edges(), [facts]);
  edge.end.listening(edge.port);
  await edge.login();
  await scene.pass(1000);
  assert.deepEqual(scene.gate.edges(), [
    { ...facts, state: 'listening', address: edge.port.address, sessions: 1, linkDelayMs: 0 },
  ]);
  assert.deepEqual(scene.gate.address, edge.port.address);
});

test('a local edge is notified when other edges at its address have room', async () => {
  const scene = new EdgeScene();
  const first = await scene.edge().link();
  const second = await scene.edge({ name: 'edge-2', instance: 'instance-2', maxSessions: 1 }).link();
  first.end.listening(first.port);
  await scene.pass(1000);
  assert.equal(first.port.othersHaveRoom, false);
  second.end.listening(second.port);
  await scene.pass(1000);
  assert.deepEqual([first.port.othersHaveRoom, second.port.othersHaveRoom], [true, true]);
  await second.login();
  await scene.pass(1000);
  assert.deepEqual([first.port.othersHaveRoom, second.port.othersHaveRoom], [false, true]);
});

test('the gate waits until the given number of local edges accept modules', async () => {
  const scene = new EdgeScene();
  let isReady = false;
  void scene.gate.whenListening(2).then(() => (isReady = true));
  const [first, second] = [await scene.edge().link(), scene.edge({ name: 'edge-2', instance: 'instance-2' })];
  const elsewhere = await scene.edge({ name: 'far', instance: 'instance-3' }, false).link();
  first.end.listening(first.port);
  elsewhere.end.listening(elsewhere.port);
  await untilIdle();
  assert.equal(isReady, false);
  second.end.listening(second.port);
  await second.link();
  assert.equal(isReady, true);
});

test('sockets of all edges are added up', async () => {
  const scene = new EdgeScene();
  for (const name of ['edge-1', 'edge-2']) {
    const edge = await scene.edge({ name, instance: name }).link();
    edge.end.listening(edge.port);
  }
  await untilIdle();
  assert.equal(scene.gate.socketCount, 6);
});

test('the core adds up the counts of an edge, including those from a time without a link', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  edge.end.telemetry.sleepLogin('accepted');
  edge.end.telemetry.sleepLogin('accepted');
  edge.end.telemetry.wakeupWrite(0.001);
  await scene.pass(1000);
  assert.equal(scene.telemetry.count('login accepted'), 2);
  assert.equal(scene.telemetry.count('wakeup write'), 1);
  await edge.cut();
  edge.end.telemetry.sleepEnd('reset');
  await scene.pass(1000);
  assert.equal(scene.telemetry.count('end reset'), 0);
  await edge.link();
  await scene.pass(1000);
  assert.equal(scene.telemetry.count('end reset'), 1);
});

test('counts beyond the limit of a message are sent in several', async () => {
  const scene = new EdgeScene();
  const edge = scene.edge();
  for (let count = 0; count < 250_000; count += 1) edge.end.telemetry.sleepLogin('busy');
  await edge.link();
  await scene.pass(1000);
  assert.equal(scene.telemetry.count('login busy'), 250_000);
  assert.deepEqual(edge.faults, []);
});

test('the core writes the log lines of an edge under its name', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  edge.end.log.warn({ port: 8081 }, 'the port is slow');
  await untilIdle();
  assert.deepEqual(scene.core.log.lines.at(-1), {
    level: 'warn',
    fields: { edge: 'edge-1', said: { port: 8081 } },
    message: 'the port is slow',
  });
});

test('a drain divides its rate among the local edges', async () => {
  const scene = new EdgeScene();
  const elsewhere = await scene.edge({ name: 'far', instance: 'instance-3' }, false).link();
  elsewhere.end.listening(elsewhere.port);
  const edges = [scene.edge(), scene.edge({ name: 'edge-2', instance: 'instance-2' })];
  for (const edge of edges) {
    await edge.link();
    edge.end.listening(edge.port);
  }
  await untilIdle();
  assert.equal(await scene.gate.drain(1000, 30_000), 0);
  assert.deepEqual(
    edges.map(({ port }) => port.orders),
    [['drain 500 30000'], ['drain 500 30000']],
  );
  assert.deepEqual(elsewhere.port.orders, []);
});

test('a drain counts sessions still open, including those of an edge that does not answer', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  edge.port.drain = () => new Promise(() => undefined);
  edge.end.listening(edge.port);
  await edge.login();
  let left: number | null = null;
  void scene.gate.drain(1000, 5000).then((count) => (left = count));
  await scene.pass(6000);
  assert.equal(left, null);
  await scene.pass(2000);
  assert.equal(left, 1);
});

test('every edge reloads its certificate, and an edge that fails is named', async () => {
  const scene = new EdgeScene();
  const edges = [scene.edge(), scene.edge({ name: 'edge-2', instance: 'instance-2' })];
  for (const edge of edges) {
    await edge.link();
    edge.end.listening(edge.port);
  }
  await scene.gate.reloadTls();
  assert.deepEqual(
    edges.map(({ port }) => port.orders),
    [['reload-tls'], ['reload-tls']],
  );
  for (const { port } of edges) port.tlsProblem = 'sleep.tls.cert_file cannot be read';
  await assert.rejects(scene.gate.reloadTls(), {
    message:
      'edge edge-1: sleep.tls.cert_file cannot be read; edge edge-2: sleep.tls.cert_file cannot be read',
  });
});

test('a second edge of the same name is declined with a sentence on both sides, and the first keeps its link', async () => {
  const scene = new EdgeScene();
  const first = await scene.edge({}, false).link();
  const second = await scene.edge({ instance: 'instance-2' }, false).link();
  const sentence = 'another edge named edge-1 is linked: give each edge a unique name (edge.name)';
  assert.deepEqual(second.faults, [`the core sent this edge away: ${sentence}`]);
  assert.equal(messages(scene).at(-1), `edge: declined: ${sentence}`);
  assert.equal((await first.login()).ticket.epoch, 1);
});

test('a restarted edge replaces its predecessor, whose sessions are lost', async () => {
  const scene = new EdgeScene();
  const first = await scene.edge({}, false).link();
  await first.login();
  await first.cut();
  const second = await scene.edge({ instance: 'instance-2' }, false).link();
  assert.deepEqual(second.faults, []);
  assert.deepEqual(scene.history(), ['opened 1', 'closed 1 node_lost']);
  assert.equal(scene.gate.edges().length, 1);
});

test('an edge that reconnects before its core notices the cut link keeps its sessions', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const module = await edge.login();
  const half = new RawEdge(scene, true);
  // The same process reconnects before its previous stream has ended.
  await half.send(hello, { kind: 'bring', sessions: [resumedSession(module.ticket)] }, { kind: 'brought' });
  assert.deepEqual(scene.history(), ['opened 1']);
  assert.deepEqual([scene.gate.sessionCount, scene.gate.edges().length, half.isCut], [1, 1, false]);
});

function resumedSession(ticket: {
  readonly deviceId: DeviceId;
  readonly sessionId: SessionId;
  readonly epoch: number;
  readonly secretMark: number;
}): BroughtSession {
  const { deviceId, sessionId, epoch, secretMark } = ticket;
  return {
    number: 1,
    deviceId,
    sessionId,
    epoch,
    secretMark,
    wakeMode: 'custom',
    lastHeartbeatAt: 0,
    endedBy: null,
  };
}

test('an edge of an incompatible version is declined, and the log has the reason', async () => {
  const scene = new EdgeScene();
  const edge = new RawEdge(scene);
  await edge.send({ kind: 'raw', value: { kind: 'hello', version: 7, more: true } });
  const sentence =
    'the edge speaks version 7 of the edge link, and this end version 1: run the same release on both';
  assert.deepEqual(edge.read, [{ kind: 'declined', version: 1, sentence }]);
  assert.equal(messages(scene).at(-1), `edge: declined: ${sentence}`);
});

for (const [field, value] of Object.entries({
  name: 'a name',
  instance: '',
  release: 7,
  pid: -1,
  address: { host: '::', port: 65_536 },
  advertise: Array.from({ length: 9 }, () => 'sleep.example:8081'),
  maxSessions: 0,
}))
  test(`an edge is declined if the field ${field} of its hello is out of range`, async () => {
    const scene = new EdgeScene();
    const edge = new RawEdge(scene);
    await edge.send({ kind: 'raw', value: { ...hello, [field]: value } });
    const sentence = `the hello of the edge is out of range in its field ${field}`;
    assert.deepEqual(edge.read, [{ kind: 'declined', version: 1, sentence }]);
    assert.equal(messages(scene).at(-1), `edge: declined: ${sentence}`);
  });

test('an edge ends the link to a core of an incompatible version with a sentence', async () => {
  const scene = new EdgeScene();
  const edge = scene.edge();
  const pair = new DuplexPair();
  edge.end.attach(pair.there);
  pair.here.resume();
  pair.here.write(encodeLengthFrame(packPlain({ kind: 'hello', version: 9 })));
  await untilIdle();
  assert.deepEqual(edge.faults, [
    'the core speaks version 9 of the edge link, and this end version 1: run the same release on both',
  ]);
});

test('a peer without a hello is cut, and so is one that stops answering', async () => {
  const scene = new EdgeScene();
  const mute = new RawEdge(scene);
  await scene.pass(linkHandshakeMsMax);
  assert.equal(mute.isCut, true);
  assert.deepEqual(mute.read, []);
  const silent = new RawEdge(scene);
  await silent.send(hello);
  await scene.pass(linkSilenceMsMax);
  assert.equal(silent.isCut, true);
  assert.equal(messages(scene).at(-1), `edge: link ended: the edge was silent for ${linkSilenceMsMax} ms`);
});

const line = `RVL1 ${Buffer.from('TESTDEVICE01').toString('base64url')} custom 50 0 ${'0'.repeat(64)}`;
const login = {
  kind: 'admit',
  number: 1,
  line,
  sessionKey: 'k'.repeat(32),
  hasRoom: true,
  address: '',
} as const;
const brought = { kind: 'brought' } as const;

const wrongs: readonly (readonly [string, readonly Parameters<RawEdge['send']>[0][]])[] = [
  ['does not speak the protocol of the link', [{ kind: 'raw', value: [0] }]],
  ['sent hello twice', [hello, hello]],
  ['requested a login before it had sent its sessions', [hello, login]],
  ['forwarded an invalid login', [hello, brought, { ...login, line: 'RVL1' }]],
  ['sent its sessions twice', [hello, brought, brought]],
  ['sent sessions after the end of its sessions', [hello, brought, { kind: 'bring', sessions: [] }]],
  ['answered a probe that it was not sent', [hello, { kind: 'probed' }]],
  ['sent an invalid message, of kind 1', [hello, { kind: 'raw', value: [1, -1] }]],
  ['sent an invalid message, of kind 99', [hello, { kind: 'raw', value: [99] }]],
  ['sent an invalid message', [hello, { kind: 'raw', value: {} }]],
];

for (const [fault, sent] of wrongs)
  test(`an edge that ${fault} is cut, and the log says so`, async () => {
    const scene = new EdgeScene();
    const edge = new RawEdge(scene);
    await edge.send(...sent);
    assert.equal(edge.isCut, true);
    assert.match(messages(scene).at(-1) ?? '', new RegExp(`: the edge ${fault}$`));
  });

test('an edge that exceeds the limit of log lines is cut', async () => {
  const scene = new EdgeScene();
  const edge = new RawEdge(scene);
  const said = { kind: 'log', level: 'info', fields: '{}', message: 'a line' } as const;
  await edge.send(hello, ...Array.from({ length: 301 }, () => said));
  assert.equal(edge.isCut, true);
  assert.match(messages(scene).at(-1) ?? '', /the edge sent more than 300 log lines in a second$/);
});

test('the core rejects a session that no core has admitted', async () => {
  const scene = new EdgeScene();
  const edge = new RawEdge(scene);
  const ticket = {
    deviceId: 'TESTDEVICE01' as DeviceId,
    sessionId: 'made-up' as SessionId,
    epoch: 1,
    secretMark: 4711,
  };
  await edge.send(hello, { kind: 'bring', sessions: [resumedSession(ticket)] }, brought);
  assert.deepEqual(scene.history(), []);
  assert.equal(scene.gate.sessionCount, 0);
  assert.deepEqual(edge.read.at(-1), [4, 1, 'kicked']);
});

test('messages about unknown sessions change nothing', async () => {
  const scene = new EdgeScene();
  const edge = new RawEdge(scene);
  await edge.send(
    hello,
    brought,
    { kind: 'ended', number: 9, reason: 'reset', lastHeartbeatAt: 0 },
    { kind: 'heartbeats', at: 1, numbers: Uint32Array.of(8, 9) },
    { kind: 'woken', ask: 9, result: 'written' },
  );
  assert.deepEqual([edge.isCut, scene.core.events], [false, []]);
});

test('edges keep their sessions when the gate closes, and it accepts no new edge', async () => {
  const scene = new EdgeScene();
  const edge = await scene.edge().link();
  const module = await edge.login();
  await Promise.all([scene.gate.close(), untilIdle()]);
  assert.deepEqual([edge.faults, module.connection.closes], [[null], []]);
  await edge.link();
  assert.deepEqual(edge.faults, [null, null]);
  assert.deepEqual([scene.history(), edge.end.sessionCount], [['opened 1'], 1]);
});
