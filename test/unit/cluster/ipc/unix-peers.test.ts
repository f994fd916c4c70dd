/** Processes that come late, stop, break, speak nonsense or are of another release, over real sockets; time is driven. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import {
  encodePeerMessage,
  decodePeerHello,
  decodePeerMessage,
  encodePeerHello,
  type PeerHello,
  type PeerMessage,
} from '../../../../src/protocol/cluster/peer-message.ts';
import { UnixPeers } from '../../../../src/cluster/ipc/unix-peers.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import {
  peerBacklogBytesMax,
  peerGreetingMsMax,
  peerRedialMs,
  peerMessageBytesMax,
} from '../../../../src/model/limits.ts';
import { encodeLengthFrame, LengthFrameDecoder } from '../../../../src/lib/link/length-frame.ts';
import { signedOrder, callRoom } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { answers, memberOne, memberTwo, questions } from '../../../support/peer-messages.ts';
import { ScriptedHost } from '../../../support/scripted-host.ts';

/** Messages of one connection, in order. */
class RawConnection {
  readonly socket: Socket;
  readonly #payloads: Buffer[] = [];
  readonly #frames = new LengthFrameDecoder(peerMessageBytesMax);
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const step of this.#frames.feed(chunk))
        if (step.kind === 'payload') this.#payloads.push(step.payload);
      this.#wake();
    });
    socket.on('close', () => this.#wake());
  }

  /** The next one; null: it has ended before. */
  async next(): Promise<Buffer | null> {
    while (this.#payloads.length === 0 && !this.socket.destroyed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#payloads.shift() ?? null;
  }

  async hello(): Promise<PeerHello | null> {
    const payload = await this.next();
    const read = payload === null ? null : decodePeerHello(payload);
    return read?.ok === true ? read.value : null;
  }

  async message(): Promise<PeerMessage | null> {
    const payload = await this.next();
    const read = payload === null ? null : decodePeerMessage(payload);
    return read?.ok === true ? read.value : null;
  }

  say(...payloads: Uint8Array[]): void {
    for (const payload of payloads) this.socket.write(encodeLengthFrame(payload));
  }

  greet(hello: PeerHello): void {
    this.say(encodePeerHello(hello));
  }
}

/** Listens where a member would. */
class RawMember {
  readonly #server: Server;
  readonly #connections: RawConnection[] = [];
  #taken = 0;
  #wake: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#connections.push(new RawConnection(socket));
      this.#wake();
    });
  }

  static async listen(path: string): Promise<RawMember> {
    const member = new RawMember(createServer());
    member.#server.listen(path);
    await once(member.#server, 'listening');
    return member;
  }

  /** Number of times it was dialled. */
  get dials(): number {
    return this.#connections.length;
  }

  /** The next one, once somebody dials. */
  async connection(): Promise<RawConnection> {
    while (this.#connections.length <= this.#taken)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const connection = this.#connections[this.#taken];
    this.#taken += 1;
    return connection as RawConnection;
  }

  async close(): Promise<void> {
    for (const { socket } of this.#connections) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

interface Scene {
  readonly t: TestContext;
  readonly clock: DrivenClock;
  readonly log: FakeLog;
  readonly host: ScriptedHost;
  readonly directory: string;
  readonly peers: UnixPeers;
  /** Where the other member is, or will be. */
  readonly other: { readonly member: MemberId; readonly socket: string };
}

async function sceneOf(t: TestContext): Promise<Scene> {
  const home = mkdtempSync(join(tmpdir(), 'peers-'));
  const directory = join(home, 'sockets');
  mkdirSync(directory, { mode: 0o755 });
  const clock = new DrivenClock();
  const log = new FakeLog();
  const host = new ScriptedHost();
  const peers = new UnixPeers({ self: memberOne, clock, log, host, directory });
  await peers.listen();
  t.after(async () => {
    await peers.close();
    rmSync(home, { recursive: true });
  });
  const other = { member: memberTwo, socket: join(directory, '2-two.sock') };
  return { t, clock, log, host, directory, peers, other };
}

async function rawMember({ t, other }: Scene): Promise<RawMember> {
  const raw = await RawMember.listen(other.socket);
  t.after(() => raw.close());
  return raw;
}

/** Both have said hello. */
async function linked(scene: Scene): Promise<{ raw: RawMember; connection: RawConnection }> {
  const raw = await rawMember(scene);
  scene.peers.members([scene.other]);
  const connection = await raw.connection();
  await connection.hello();
  connection.greet({ kind: 'hello', member: memberTwo });
  return { raw, connection };
}

async function visitor(scene: Scene): Promise<RawConnection> {
  const socket = createConnection(scene.peers.socket);
  scene.t.after(() => socket.destroy());
  await once(socket, 'connect');
  return new RawConnection(socket);
}

async function isOpen(ask: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([ask, Promise.resolve('open')])) === 'open';
}

/** Turns of the event loop until it is so; a test that waits for what does not come runs into its time. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

test('a member listens under its process and its life, where nobody else may look, and leaves nothing', async (t) => {
  const { peers, directory } = await sceneOf(t);
  assert.equal(peers.socket, join(directory, '1-one.sock'));
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.ok(existsSync(peers.socket));
  await peers.close();
  assert.ok(!existsSync(peers.socket));
});

test('a path that no socket can have is refused in words', async () => {
  const deps = { self: memberOne, clock: new DrivenClock(), log: new FakeLog(), host: new ScriptedHost() };
  const peers = new UnixPeers({ ...deps, directory: `/tmp/${'x'.repeat(100)}` });
  await assert.rejects(peers.listen(), /longer than the 103 bytes/);
});

test('a member that does not listen yet is waited for, and asked as soon as it does', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock, other } = scene;
  peers.members([other]);
  const early = peers.ask(memberTwo, questions.disconnect, 50);
  const ask = peers.ask(memberTwo, questions.disconnect, 5000);
  clock.advance(100);
  assert.deepEqual(await early, fail('unsent'));
  const host = new ScriptedHost();
  const two = new UnixPeers({ self: memberTwo, clock, log: scene.log, host, directory: scene.directory });
  t.after(() => two.close());
  await two.listen();
  await until(() => {
    clock.advance(peerRedialMs);
    return host.asked.length > 0;
  });
  assert.deepEqual(await ask, succeed(true));
  assert.equal(host.asked.length, 1);
});

test('a member that takes the connection and says nothing has got no question', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock, other } = scene;
  const raw = await rawMember(scene);
  peers.members([other]);
  const connection = await raw.connection();
  const ask = peers.ask(memberTwo, questions.wake, 1800);
  assert.deepEqual(await connection.hello(), { kind: 'hello', member: memberOne });
  clock.advance(1850);
  assert.deepEqual(await ask, fail('unsent'));
});

test('a stopped member: what may have reached it is unanswered, what waits is unsent and takes no memory', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock } = scene;
  const { connection } = await linked(scene);
  const first = peers.ask(memberTwo, questions.wake, 1800);
  await connection.message();
  connection.socket.pause();
  const order = signedOrder({ room: { ...callRoom, payload: 'x'.repeat(700_000) } });
  const count = Math.ceil(peerBacklogBytesMax / 700_000) + 2;
  const large = Array.from({ length: count }, () =>
    peers.ask(memberTwo, { kind: 'issue-call', order }, 1000),
  );
  assert.deepEqual(await large.at(-1), fail('unsent'));
  assert.ok(await isOpen(large[0] as Promise<unknown>));
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  clock.advance(1050);
  const errors = (await Promise.all(large)).map((outcome) => (outcome.ok ? 'answered' : outcome.error));
  const written = errors.filter((error) => error === 'unanswered').length;
  assert.ok(written > 0 && written < 5, `${written} were written`);
  assert.deepEqual(new Set(errors.slice(written)), new Set(['unsent']));
  assert.ok(await isOpen(first));
  const again = Array.from({ length: count - 3 }, () =>
    peers.ask(memberTwo, { kind: 'issue-call', order }, 700),
  );
  assert.ok(await isOpen(again.at(-1) as Promise<unknown>), 'there is room again');
  clock.advance(800);
  assert.deepEqual(await first, fail('unanswered'));
});

test('what is told to a member that does not read is dropped when there is no room, and counted', async (t) => {
  const scene = await sceneOf(t);
  const { peers } = scene;
  peers.members([scene.other]);
  const order = signedOrder({ room: { ...callRoom, payload: 'x'.repeat(700_000) } });
  const asks = Array.from({ length: 30 }, () => peers.ask(memberTwo, { kind: 'issue-call', order }, 1000));
  assert.deepEqual(await asks.at(-1), fail('unsent'));
  while (peers.noticesDropped === 0) peers.notify('everybody', { kind: 'log-grew' });
  peers.members([]);
  assert.deepEqual(await asks[0], fail('nobody'));
  assert.deepEqual([peers.isAlive(memberTwo), peers.noticesDropped], [false, 1]);
});

test('when a connection breaks, what was asked is unanswered at once, and the next one goes on a new connection', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock } = scene;
  const { raw, connection } = await linked(scene);
  const broken = peers.ask(memberTwo, questions.wake, 1800);
  await connection.message();
  connection.socket.destroy();
  assert.deepEqual(await broken, fail('unanswered'));
  const ask = peers.ask(memberTwo, questions.disconnect, 1800);
  peers.notify(memberTwo, { kind: 'log-grew' });
  clock.advance(peerRedialMs);
  const next = await raw.connection();
  await next.hello();
  next.greet({ kind: 'hello', member: memberTwo });
  const asked = await next.message();
  assert.ok(asked?.kind === 'question');
  assert.equal((await next.message())?.kind, 'notice');
  next.say(encodePeerMessage({ kind: 'answer', id: asked.id, to: 'disconnect', answer: false }));
  assert.deepEqual(await ask, succeed(false));
});

test('what waited behind what a stopped member did not read is not lost with the connection', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock } = scene;
  const { raw, connection } = await linked(scene);
  connection.socket.pause();
  const order = signedOrder({ room: { ...callRoom, payload: 'x'.repeat(700_000) } });
  const large = peers.ask(memberTwo, { kind: 'issue-call', order }, 1800);
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  const ask = peers.ask(memberTwo, questions.disconnect, 1800);
  connection.socket.destroy();
  assert.deepEqual(await large, fail('unanswered'));
  clock.advance(peerRedialMs);
  const next = await raw.connection();
  await next.hello();
  next.greet({ kind: 'hello', member: memberTwo });
  const asked = await next.message();
  assert.ok(asked?.kind === 'question' && asked.question.kind === 'disconnect');
  next.say(encodePeerMessage({ kind: 'answer', id: asked.id, to: 'disconnect', answer: true }));
  assert.deepEqual(await ask, succeed(true));
});

test('a member that goes over to another process answers what reached it, and is asked the rest there', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock } = scene;
  const { raw, connection } = await linked(scene);
  const reached = peers.ask(memberTwo, questions.wake, 1800);
  const first = peers.ask(memberTwo, questions.disconnect, 1800);
  const [asked, other] = [await connection.message(), await connection.message()];
  assert.ok(asked?.kind === 'question' && other?.kind === 'question');
  connection.say(encodePeerMessage({ kind: 'leaving' }));
  connection.say(encodePeerMessage({ kind: 'answer', id: other.id, to: 'disconnect', answer: true }));
  await first;
  const waits = peers.ask(memberTwo, questions.disconnect, 500);
  const views = peers.ask(memberTwo, { kind: 'status' }, 500);
  const [answer] = answers.wake;
  assert.ok(answer !== undefined);
  connection.say(encodePeerMessage({ kind: 'answer', id: asked.id, to: 'wake', answer }));
  assert.deepEqual(await reached, succeed(answer));
  // It hangs up then, and what is of a session waits for longer than its asker would otherwise.
  assert.equal(await connection.next(), null);
  clock.advance(501);
  assert.deepEqual(await views, fail('unsent'));
  assert.equal(await isOpen(waits), true);
  clock.advance(peerRedialMs);
  const next = await raw.connection();
  await next.hello();
  next.greet({ kind: 'hello', member: memberTwo });
  const again = await next.message();
  assert.ok(again?.kind === 'question' && again.question.kind === 'disconnect');
  next.say(encodePeerMessage({ kind: 'answer', id: again.id, to: 'disconnect', answer: true }));
  assert.deepEqual(await waits, succeed(true));
});

test('a process that leaves its place answers, and another one listens at the same path', async (t) => {
  const scene = await sceneOf(t);
  const { peers, clock, log, directory, host } = scene;
  const viewer = await visitor(scene);
  viewer.greet({ kind: 'hello', member: memberTwo });
  await viewer.hello();
  const question = { kind: 'question', id: 1, from: memberTwo, question: questions.disconnect } as const;
  viewer.say(encodePeerMessage(question));
  await until(() => host.asked.length === 1);
  const leaving = peers.leave();
  const said = [await viewer.message(), await viewer.message()].map((message) => message?.kind);
  assert.deepEqual(new Set(said), new Set(['answer', 'leaving']));
  viewer.socket.destroy();
  let hasLeft = false;
  void leaving.then(() => (hasLeft = true));
  await until(() => {
    clock.advance(5);
    return hasLeft;
  });
  assert.ok(!existsSync(peers.socket));
  await peers.close();
  const next = new UnixPeers({ self: memberOne, clock, log, host, directory });
  t.after(() => next.close());
  await next.listen();
  assert.ok(existsSync(peers.socket));
});

test('a question of another release is logged, and those before and behind it are answered', async (t) => {
  const scene = await sceneOf(t);
  const viewer = await visitor(scene);
  viewer.greet({ kind: 'hello', member: memberTwo });
  await viewer.hello();
  const known = { kind: 'question', from: memberTwo, question: questions.disconnect } as const;
  viewer.say(encodePeerMessage({ ...known, id: 1, question: { kind: 'of-tomorrow' } as never }));
  viewer.say(encodePeerMessage({ ...known, id: 2 }));
  const answered = await viewer.message();
  assert.equal(answered?.kind === 'answer' && answered.id, 2);
  assert.match(JSON.stringify(scene.log.lines), /of-tomorrow/);
});

test('who answers for another member, or in another version, is not asked', async (t) => {
  for (const speak of [
    (connection: RawConnection) => connection.greet({ kind: 'hello', member: 'node-1/3@three' as MemberId }),
    (connection: RawConnection) => connection.say(Uint8Array.of(2, 0xc0)),
  ]) {
    const scene = await sceneOf(t);
    const raw = await rawMember(scene);
    scene.peers.members([scene.other]);
    const ask = scene.peers.ask(memberTwo, questions.disconnect, 1000);
    speak(await raw.connection());
    assert.deepEqual(await ask, fail('unsent'));
    assert.match(JSON.stringify(scene.log.lines), /this is node-1\/3@three|version 2, this member speaks 1/);
  }
});

const nonsense: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
  'what is no message': [Uint8Array.of(1, 0xc1), /no message/],
  'a message of another version': [Uint8Array.of(2, 0xc0), /version 2, this member speaks 1/],
  'a question where it is to answer': [
    encodePeerMessage({ kind: 'question', id: 1, from: memberTwo, question: questions.disconnect }),
    /sent a question/,
  ],
  'an answer to another kind of question': [
    encodePeerMessage({ kind: 'answer', id: 1, to: 'metrics', answer: '' }),
    /another question/,
  ],
};

for (const [name, [payload, complaint]] of Object.entries(nonsense))
  test(`a member that sends ${name} is cut off, and it is said why`, async (t) => {
    const scene = await sceneOf(t);
    const { connection } = await linked(scene);
    const ask = scene.peers.ask(memberTwo, questions.disconnect, 1000);
    await connection.message();
    connection.say(payload);
    assert.deepEqual(await ask, fail('unanswered'));
    assert.match(JSON.stringify(scene.log.lines), complaint);
  });

const badViewers: Readonly<Record<string, readonly [(viewer: RawConnection) => void, RegExp]>> = {
  'speaks for another member': [
    (viewer) =>
      viewer.say(encodePeerMessage({ kind: 'notice', from: memberOne, notice: { kind: 'log-grew' } })),
    /speaks for node-1\/1@one/,
  ],
  'answers what nobody asked': [
    (viewer) => viewer.say(encodePeerMessage({ kind: 'answer', id: 1, to: 'disconnect', answer: true })),
    /answered where it is to ask/,
  ],
  'sends what is no message': [(viewer) => viewer.say(Uint8Array.of(1, 0xc1)), /no message/],
  'sends more than a message may have': [
    (viewer) => viewer.socket.write(Buffer.of(0xff, 0xff, 0xff, 0xff)),
    /4294967295 bytes/,
  ],
};

for (const [name, [speak, complaint]] of Object.entries(badViewers))
  test(`who comes and ${name} is cut off, and nothing of it is heard`, async (t) => {
    const scene = await sceneOf(t);
    const viewer = await visitor(scene);
    viewer.greet({ kind: 'hello', member: memberTwo });
    assert.deepEqual(await viewer.hello(), { kind: 'hello', member: memberOne });
    speak(viewer);
    assert.equal(await viewer.next(), null);
    assert.match(JSON.stringify(scene.log.lines), complaint);
    assert.deepEqual([scene.host.asked, scene.host.notices], [[], []]);
  });

test('who comes and says no hello is told why it may not stay, or is sent away after a while', async (t) => {
  const scene = await sceneOf(t);
  const silent = await visitor(scene);
  await until(() => scene.clock.pendingTimers === 1);
  scene.clock.advance(peerGreetingMsMax);
  assert.equal(await silent.next(), null);
  const loud = await visitor(scene);
  loud.say(encodePeerMessage({ kind: 'notice', from: memberTwo, notice: { kind: 'log-grew' } }));
  assert.equal((await loud.hello())?.kind, 'refused');
  assert.deepEqual(scene.host.notices, []);
});
