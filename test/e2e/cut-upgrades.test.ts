/** An upgrade is accepted wherever TCP cuts its request line and headers: firmware prints its handshake in pieces. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { DrivenClock } from '../support/driven-clock.ts';
import { nextTurn, until } from '../support/event-loop.ts';
import { FakeSignalSessions } from '../support/fake-device-sessions.ts';
import { FakeRelay } from '../support/fake-relay.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { legUpgrade } from '../support/media-peer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { makeSignalListener } from '../support/signal-listener.ts';
import { SignalPeer, upgradeRequest } from '../support/signal-peer.ts';

/** A listener in this process, so that a turn of the loop is one of its turns. */
interface OpenListener {
  readonly port: number;
  /** Connections that it has. */
  readonly connectionCount: () => number;
  readonly close: () => void;
}

const listeners: readonly {
  readonly name: string;
  readonly request: string;
  readonly open: () => Promise<OpenListener>;
}[] = [
  {
    name: 'signal',
    request: upgradeRequest(),
    async open() {
      const deps = {
        clock: new DrivenClock(),
        sessions: new FakeSignalSessions(),
        telemetry: new FakeTelemetry(),
      };
      const listener = makeSignalListener(deps);
      await listener.listen();
      const { port } = listener.address;
      return { port, connectionCount: () => listener.socketCount, close: () => listener.close() };
    },
  },
  {
    name: 'media',
    request: legUpgrade(),
    async open() {
      const scene = new MediaListenerScene(new FakeRelay());
      await scene.listen();
      const { port } = scene;
      return { port, connectionCount: () => scene.listener.socketCount, close: () => scene.close() };
    },
  },
];

const peers: Socket[] = [];
let close: () => void = () => undefined;
afterEach(() => {
  for (const socket of peers.splice(0)) socket.destroy();
  close();
});

/** Resolves when the server has accepted it. */
async function connect({ port, connectionCount }: OpenListener): Promise<RawPeer> {
  const before = connectionCount();
  const peer = await RawPeer.connect(port);
  peers.push(peer.socket);
  await until(() => connectionCount() > before);
  return peer;
}

/** Each part is a read of its own: what was written lies in the socket of the server, which reads it in its next turn. */
async function sendParts({ socket }: RawPeer, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    await new Promise<void>((written) => socket.write(part, () => written()));
    await nextTurn();
    await nextTurn();
  }
}

async function isUpgraded(peer: RawPeer): Promise<boolean> {
  const isAccepted = (await new SignalPeer(peer).readHead()).startsWith('HTTP/1.1 101 ');
  peer.socket.resetAndDestroy();
  return isAccepted;
}

for (const { name, request, open } of listeners) {
  const bytes = Buffer.from(request, 'latin1');

  test(`${name}: an upgrade cut anywhere in two is accepted`, async () => {
    const listener = await open();
    ({ close } = listener);
    const refused: string[] = [];
    for (let at = 1; at < bytes.length; at++) {
      const peer = await connect(listener);
      await sendParts(peer, [bytes.subarray(0, at), bytes.subarray(at)]);
      if (!(await isUpgraded(peer))) refused.push(JSON.stringify(request.slice(Math.max(0, at - 10), at)));
      await until(() => listener.connectionCount() === 0);
    }
    assert.deepEqual(refused, []);
  });

  test(`${name}: an upgrade in single bytes is accepted`, async () => {
    const listener = await open();
    ({ close } = listener);
    const peer = await connect(listener);
    await sendParts(
      peer,
      Array.from(bytes, (byte) => Buffer.from([byte])),
    );
    assert.equal(await isUpgraded(peer), true);
  });
}

test('the parts of a request arrive as reads of their own', async () => {
  const reads: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => reads.push(chunk.length));
  });
  close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const peer = await connect({ port, connectionCount: () => sockets.size, close });
  await sendParts(
    peer,
    [1, 2, 3, 1].map((length) => Buffer.alloc(length)),
  );
  assert.deepEqual(reads, [1, 2, 3, 1]);
});
