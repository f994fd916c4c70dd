/**
 * Conformance of a sleep port and its sessions, over any link between them: the listener reports to the sessions, and the sessions
 * reach the modules through their connections. Source: sleep-wire.md; scale-out.md, Edges.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { SessionTicket, SleepConnection } from '../../src/core/ports/device-sessions.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { wakeupsWaitingMax } from '../../src/model/limits.ts';
import type { SleepEndReason } from '../../src/model/sleep.ts';
import { encodeLoginLine, type LoginCredentials } from '../../src/protocol/sleep/login-line.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { until } from '../support/event-loop.ts';
import { FakeSleepSessions } from '../support/fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import {
  fillKernel,
  type HeldAnswers,
  type SleepFrontKind,
  type SleepFront,
} from '../support/sleep-fronts.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const testModule: LoginCredentials = {
  deviceId: 'TESTDEVICE01',
  secret: 'device-secret',
  wakeMode: 'custom',
  heartbeatSeconds: 5,
  wantsReply: true,
};
const firmware = { wantsReply: false };
const fixedPacket = '983b16f8f39c0000';

class Scene {
  readonly clock: DrivenClock;
  readonly sessions: FakeSleepSessions;
  readonly telemetry: FakeTelemetry;
  readonly front: SleepFront;
  readonly #t: TestContext;

  constructor(
    t: TestContext,
    { clock, sessions, telemetry }: Pick<Scene, 'clock' | 'sessions' | 'telemetry'>,
    front: SleepFront,
  ) {
    this.#t = t;
    this.clock = clock;
    this.sessions = sessions;
    this.telemetry = telemetry;
    this.front = front;
    t.after(() => front.close());
  }

  async peer(localAddress?: string): Promise<RawPeer> {
    const peer = await RawPeer.connect(this.front.listener.address.port, localAddress);
    this.#t.after(() => peer.socket.destroy());
    return peer;
  }

  /** Sends a login line, with `rest` in the same segment. */
  async caller(options: Partial<LoginCredentials> = {}, rest = ''): Promise<RawPeer> {
    const peer = await this.peer();
    peer.send(encodeLoginLine({ ...testModule, ...options }, await peer.read(32)) + rest);
    return peer;
  }

  /** Logs a module in; it and the sessions know it. */
  async module(options: Partial<LoginCredentials> = {}): Promise<RawPeer> {
    const before = this.front.listener.sessionCount;
    const peer = await this.caller(options);
    if (options.wantsReply !== false) assert.equal(await peer.read(3), 'OK\n');
    else await until(() => this.front.listener.sessionCount > before);
    return peer;
  }

  get connection(): SleepConnection {
    return this.sessions.connection();
  }

  get nowS(): number {
    return Math.floor(this.clock.wallMs() / 1000);
  }

  /** The only session end, which is that of the last session. */
  async endOf(): Promise<{ readonly reason: SleepEndReason; readonly lastHeartbeatAt: number }> {
    const [end] = await this.sessions.endedSessions();
    assert.ok(end !== undefined);
    assert.deepEqual(pick(end.ticket), pick(this.sessions.tickets.at(-1)));
    await this.front.untilIdle();
    assert.equal(this.sessions.ends.length, 1);
    return end;
  }

  /** Holds answers back until `release`. */
  delayAnswers(): HeldAnswers {
    const { answers } = this.front;
    assert.ok(answers !== null);
    answers.withhold();
    return answers;
  }
}

function pick(ticket: SessionTicket | undefined): unknown {
  if (ticket === undefined) return null;
  const { deviceId, sessionId, epoch, secretMark } = ticket;
  return { deviceId, sessionId, epoch, secretMark };
}

const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex');

export function sleepSessionsConformance({ name, make, answersLater }: SleepFrontKind): void {
  const open = async (t: TestContext, settings: Partial<SleepSettings> = {}): Promise<Scene> => {
    const [clock, sessions, telemetry] = [new DrivenClock(), new FakeSleepSessions(), new FakeTelemetry()];
    const front = await make({ clock, sessions, telemetry, log: new FakeLog() }, settings);
    return new Scene(t, { clock, sessions, telemetry }, front);
  };

  test(`${name}: the sessions receive a login unchanged, and its connection is open`, async (t) => {
    const scene = await open(t);
    await scene.module({ wakeMode: 'fixed', heartbeatSeconds: 50 });
    const [login] = scene.sessions.logins;
    assert.equal(login?.deviceId, 'TESTDEVICE01');
    assert.deepEqual([login.wakeMode, login.heartbeatSeconds, login.wantsReply], ['fixed', 50, true]);
    assert.deepEqual(scene.sessions.addresses, ['127.0.0.1']);
    assert.deepEqual([scene.connection.isOpen, scene.connection.lastHeartbeatAt], [true, 0]);
    assert.deepEqual([scene.front.listener.sessionCount, scene.front.listener.handshakeCount], [1, 0]);
    assert.equal(scene.telemetry.count('login accepted'), 1);
  });

  test(`${name}: a wrong mac, an unknown device and a mac over another session key are denied`, async (t) => {
    const scene = await open(t);
    assert.equal(await (await scene.caller({ secret: 'wrong' })).readAll(), 'ERR denied\n');
    assert.equal(await (await scene.caller({ deviceId: 'nobody' })).readAll(), 'ERR denied\n');
    const [peer, other] = [await scene.peer(), await scene.peer()];
    await peer.read(32);
    peer.send(encodeLoginLine(testModule, await other.read(32)));
    assert.equal(await peer.readAll(), 'ERR denied\n');
    assert.equal(await (await scene.caller({ ...firmware, secret: 'wrong' })).readAll(), '');
    assert.equal(scene.telemetry.count('login denied'), 4);
    assert.deepEqual(scene.sessions.logins, []);
  });

  test(`${name}: sessions that admit no login, or cannot be read, are busy`, async (t) => {
    const scene = await open(t);
    scene.sessions.loginsAreClosed = true;
    assert.equal(await (await scene.caller()).readAll(), 'ERR busy\n');
    scene.sessions.failure = new Error('the store is gone');
    assert.equal(await (await scene.caller()).readAll(), 'ERR busy\n');
    assert.equal(scene.telemetry.count('login busy'), 2);
  });

  test(`${name}: a full port admits only logins that replace a session`, async (t) => {
    const scene = await open(t, { max_sessions: 1 });
    scene.sessions.secrets.set('other', 'device-secret');
    const older = await scene.module();
    assert.equal(await (await scene.caller({ deviceId: 'other' })).readAll(), 'ERR busy\n');
    await scene.module();
    await older.gone;
    assert.equal(scene.front.listener.sessionCount, 1);
  });

  test(`${name}: the connection of an older session is closed, and its late end changes nothing`, async (t) => {
    const scene = await open(t);
    const older = await scene.module();
    const replaced = scene.connection;
    await scene.module();
    older.socket.end();
    await older.gone;
    await scene.front.untilIdle();
    assert.deepEqual(scene.sessions.ends, []);
    assert.deepEqual([replaced.isOpen, scene.connection.isOpen], [false, true]);
    assert.equal(await replaced.wake(null), 'refused');
    assert.equal(await scene.connection.wake(null), 'written');
    assert.equal(scene.telemetry.count('end replaced'), 1);
  });

  test(`${name}: a heartbeat is recorded with its second, and a login is not one`, async (t) => {
    const scene = await open(t);
    const peer = await scene.module();
    await scene.front.pass(3000);
    assert.equal(scene.connection.lastHeartbeatAt, 0);
    peer.send('heartbeat');
    await scene.front.untilIdle();
    const arrivedS = scene.nowS;
    await scene.front.pass(3000);
    assert.equal(scene.connection.lastHeartbeatAt, arrivedS);
  });

  test(`${name}: a peer that closes after its login line can read the answer`, async (t) => {
    const scene = await open(t);
    const peer = await scene.caller();
    peer.socket.end();
    assert.equal(await peer.readAll(), 'OK\n');
    assert.equal((await scene.endOf()).reason, 'peer_closed');
    const denied = await scene.caller({ secret: 'wrong' });
    denied.socket.end();
    assert.equal(await denied.readAll(), 'ERR denied\n');
  });

  test(`${name}: a FIN, an RST, silence and a flood end a session once, with the last heartbeat`, async (t) => {
    for (const [reason, cause] of [
      ['peer_closed', (_scene: Scene, peer: RawPeer) => peer.socket.end()],
      ['reset', (_scene: Scene, peer: RawPeer) => peer.socket.resetAndDestroy()],
      ['heartbeat_timeout', (scene: Scene) => scene.front.pass(17_000)],
      ['flood', (_scene: Scene, peer: RawPeer) => peer.send(Buffer.alloc(4097))],
    ] as const)
      await t.test(reason, async (one) => {
        const scene = await open(one);
        const peer = await scene.module(firmware);
        peer.send('heartbeat');
        await scene.front.pass(1000);
        const heardS = scene.nowS - 1;
        await cause(scene, peer);
        const end = await scene.endOf();
        assert.equal(end.reason, reason);
        // The flood itself does not count as a heartbeat.
        assert.equal(end.lastHeartbeatAt, heardS);
        assert.equal(scene.connection.isOpen, false);
        assert.equal(await scene.connection.wake(null), 'refused');
        assert.equal(scene.telemetry.count(`end ${reason}`), 1);
      });
  });

  test(`${name}: a drain ends every session`, async (t) => {
    const scene = await open(t);
    await scene.module();
    const left = scene.front.listener.drain(10, 30_000);
    await scene.front.pass(500);
    assert.equal((await scene.endOf()).reason, 'drain');
    assert.equal(await left, 0);
  });

  test(`${name}: a close by the sessions closes the connection, and reports no end`, async (t) => {
    const scene = await open(t);
    const peer = await scene.module();
    scene.connection.close('kicked');
    assert.equal(scene.connection.isOpen, false);
    assert.equal(await scene.connection.wake(null), 'refused');
    await peer.gone;
    await scene.front.untilIdle();
    assert.deepEqual(scene.sessions.ends, []);
    assert.equal(scene.telemetry.count('end kicked'), 1);
    assert.equal(scene.front.listener.sessionCount, 0);
  });

  test(`${name}: a module reads the exact 8 bytes of its wakeups, in order`, async (t) => {
    const scene = await open(t);
    const peer = await scene.module(firmware);
    const answers = [null, Buffer.from([0x12, 0xab]), null].map((data) => scene.connection.wake(data));
    assert.deepEqual(await Promise.all(answers), ['written', 'written', 'written']);
    assert.equal(hex(await peer.read(24)), `${fixedPacket}983b16f8f39c12ab${fixedPacket}`);
    assert.equal(scene.telemetry.count('wakeup write'), 3);
  });

  test(`${name}: wakeups beyond a connection's queue are busy`, async (t) => {
    const scene = await open(t);
    const peer = await scene.module(firmware);
    // One is being written while the others wait.
    const most = wakeupsWaitingMax + 1;
    const answers = await Promise.all(Array.from({ length: most + 2 }, () => scene.connection.wake(null)));
    assert.deepEqual(answers, [...Array<string>(most).fill('written'), 'busy', 'busy']);
    assert.equal(hex(await peer.read(8 * most)), fixedPacket.repeat(most));
  });

  test(`${name}: a packet that the kernel does not accept is unknown, a later one refused, and the session ends as stuck`, async (t) => {
    const scene = await open(t);
    const peer = await scene.module({ heartbeatSeconds: 50 });
    peer.socket.pause();
    const stuck = await fillKernel(scene.front.connection());
    if (stuck === null) return t.skip('the kernel here holds more than this test will write');
    const behind = scene.connection.wake(null);
    await scene.front.untilIdle();
    await scene.front.pass(1000);
    assert.deepEqual([await stuck.answer, await behind], ['unknown', 'refused']);
    await scene.front.pass(9000);
    assert.equal((await scene.endOf()).reason, 'write_stuck');
  });

  if (answersLater) laterAnswers(name, open);
}

/** Tests of logins whose answer is delayed. */
function laterAnswers(
  name: string,
  open: (t: TestContext, settings?: Partial<SleepSettings>) => Promise<Scene>,
): void {
  test(`${name}: no byte is written before the answer, and OK precedes a packet`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller();
    await scene.sessions.loggedIn();
    const woken = scene.connection.wake(null);
    await scene.front.untilIdle();
    assert.deepEqual([peer.unread, scene.front.listener.sessionCount], [0, 0]);
    answers.release();
    assert.equal(await woken, 'written');
    assert.equal(hex(await peer.read(11)), hex('OK\n') + fixedPacket);
  });

  test(`${name}: a login that is refused later receives the reason`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller({ secret: 'wrong' });
    await until(() => scene.front.listener.handshakeCount === 1);
    peer.send('heartbeat');
    await scene.front.untilIdle();
    answers.release();
    assert.equal(await peer.readAll(), 'ERR denied\n');
    assert.equal(scene.telemetry.count('login denied'), 1);
    assert.equal(scene.front.listener.handshakeCount, 0);
  });

  test(`${name}: bytes that arrive before the answer count as a heartbeat`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller({}, 'heartbeat');
    await scene.sessions.loggedIn();
    const arrivedS = scene.nowS;
    await scene.front.pass(2000);
    answers.release();
    assert.equal(await peer.read(3), 'OK\n');
    await scene.front.pass(2000);
    assert.equal(scene.connection.lastHeartbeatAt, arrivedS);
  });

  test(`${name}: a connection cut before the answer leaves the handshakes, and its session ends with that reason`, async (t) => {
    for (const [reason, rest, hangUp] of [
      ['reset', '', (peer: RawPeer) => void peer.socket.resetAndDestroy()],
      ['flood', 'x'.repeat(4097), () => undefined],
      ['flood', 'x'.repeat(4096), (peer: RawPeer) => peer.send('x')],
    ] as const)
      await t.test(`${reason} after ${rest.length} bytes`, async (one) => {
        const scene = await open(one);
        const answers = scene.delayAnswers();
        const peer = await scene.caller({}, rest);
        await scene.sessions.loggedIn();
        hangUp(peer);
        await until(() => scene.front.listener.handshakeCount === 0);
        assert.equal(scene.front.listener.socketCount, 0);
        assert.deepEqual(scene.sessions.ends, []);
        answers.release();
        assert.equal((await scene.endOf()).reason, reason);
        assert.equal(scene.telemetry.count('login accepted'), 1);
        assert.equal(scene.telemetry.count(`end ${reason}`), 1);
      });
  });

  test(`${name}: a login without an answer within 10 s is busy, and a late session ends`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller();
    await scene.sessions.loggedIn();
    await scene.front.pass(9500);
    assert.equal(scene.telemetry.count('login busy'), 0);
    await scene.front.pass(2500);
    assert.equal(await peer.readAll(), 'ERR busy\n');
    assert.equal(scene.telemetry.count('login busy'), 1);
    answers.release();
    assert.equal((await scene.endOf()).reason, 'node_lost');
    assert.equal(scene.front.listener.sessionCount, 0);
  });

  test(`${name}: a login that waits for its answer yields to a newcomer like any other`, async (t) => {
    const scene = await open(t, { handshakes_max: 1 });
    const answers = scene.delayAnswers();
    const peer = await scene.caller();
    await scene.sessions.loggedIn();
    await scene.front.pass(2500);
    const newcomer = await scene.peer('127.0.0.2');
    assert.equal((await newcomer.read(32)).length, 32);
    assert.equal(await peer.readAll(), '');
    answers.release();
    assert.equal((await scene.endOf()).reason, 'drain');
    assert.equal(scene.telemetry.count('login busy'), 1);
  });

  test(`${name}: a drain rejects a login that waits for its answer`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller();
    await scene.sessions.loggedIn();
    const left = scene.front.listener.drain(10, 30_000);
    assert.equal(await peer.readAll(), 'ERR busy\n');
    assert.equal(await left, 0);
    answers.release();
    assert.equal((await scene.endOf()).reason, 'drain');
  });

  test(`${name}: a close by the sessions along with the answer reports no end`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const peer = await scene.caller();
    await scene.sessions.loggedIn();
    scene.connection.close('kicked');
    answers.release();
    await peer.gone;
    await until(() => scene.front.listener.handshakeCount === 0);
    await scene.front.untilIdle();
    assert.deepEqual(scene.sessions.ends, []);
    assert.equal(scene.front.listener.sessionCount, 0);
    assert.equal(scene.telemetry.count('end kicked'), 1);
  });

  test(`${name}: the newer of two waiting logins of a device has the session`, async (t) => {
    const scene = await open(t);
    const answers = scene.delayAnswers();
    const older = await scene.caller();
    await scene.sessions.loggedIn();
    const newer = await scene.caller();
    await scene.sessions.loggedIn(2);
    answers.release();
    assert.equal(await newer.read(3), 'OK\n');
    await older.gone;
    await scene.front.untilIdle();
    assert.deepEqual(scene.sessions.ends, []);
    assert.equal(scene.front.listener.sessionCount, 1);
    assert.equal(await scene.connection.wake(null), 'written');
    assert.equal(hex(await newer.read(8)), fixedPacket);
  });

  test(`${name}: a login over TLS can be answered later, too`, { skip: noOpenssl }, async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const scene = await open(t, certificate.settings);
    const answers = scene.delayAnswers();
    const plain = await scene.peer();
    plain.socket.removeAllListeners('data');
    const ca = certificate.certificateOf('first');
    const peer = new RawPeer(connectTls({ socket: plain.socket, host: '127.0.0.1', ca }));
    peer.send(encodeLoginLine(testModule, await peer.read(32)) + 'heartbeat');
    await scene.sessions.loggedIn();
    answers.release();
    assert.equal(await peer.read(3), 'OK\n');
    assert.equal(await scene.connection.wake(null), 'written');
    plain.socket.resetAndDestroy();
    const end = await scene.endOf();
    assert.deepEqual([end.reason, end.lastHeartbeatAt], ['reset', scene.nowS]);
  });
}
