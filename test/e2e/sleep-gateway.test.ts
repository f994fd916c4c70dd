/**
 * The sleep port on real sockets, with a core of test size, in its process or over a link, and a driven clock.
 * Source: sleep-wire.md.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { SleepingModule, type SleepingModuleOptions } from '../../src/tools/simulator/sleeping-module.ts';
import { sleepEndsPerTurnMax, type WakeMode } from '../../src/model/sleep.ts';
import type { SleepListener } from '../../src/edge/listener.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSleepSessions } from '../support/fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { until } from '../support/event-loop.ts';
import { sleepFronts, type SleepFront } from '../support/sleep-fronts.ts';

for (const { name, make } of sleepFronts)
  describe(`the sleep port ${name}`, () => {
    let clock: DrivenClock;
    let sessions: FakeSleepSessions;
    let telemetry: FakeTelemetry;
    let log: FakeLog;
    let front: SleepFront;
    let listener: SleepListener;
    let port: number;
    const peers: RawPeer[] = [];

    beforeEach(() => {
      clock = new DrivenClock();
      sessions = new FakeSleepSessions();
      telemetry = new FakeTelemetry();
      log = new FakeLog();
    });

    afterEach(async () => {
      for (const peer of peers.splice(0)) peer.socket.destroy();
      await front.close();
    });

    async function listen(settings: Partial<SleepSettings> = {}): Promise<void> {
      front = await make({ clock, sessions, telemetry, log }, settings);
      ({ listener } = front);
      port = listener.address.port;
    }

    async function peer(localAddress?: string): Promise<RawPeer> {
      const peer = await RawPeer.connect(port, localAddress);
      peers.push(peer);
      return peer;
    }

    const testModule: SleepingModuleOptions = { deviceId: 'TESTDEVICE01', secret: 'device-secret' };

    function module(options: Partial<SleepingModuleOptions> = {}): Promise<SleepingModule> {
      return SleepingModule.connect(port, { ...testModule, ...options });
    }

    interface LineOptions {
      readonly secret?: string;
      readonly wantsReply?: boolean;
      readonly wakeMode?: WakeMode;
    }

    function line(sessionKey: string, options: LineOptions = {}): string {
      const credentials = {
        ...testModule,
        wakeMode: 'fixed',
        heartbeatSeconds: 5,
        wantsReply: false,
        ...options,
      } as const;
      return encodeLoginLine(credentials, sessionKey);
    }

    test('the server sends first: 32 characters in one segment', async () => {
      await listen();
      const caller = await peer();
      const chunk = await new Promise<Buffer>((arrived) => caller.socket.once('data', arrived));
      assert.match(chunk.toString('latin1'), /^[A-Za-z0-9_-]{32}$/);
    });

    test('a refused module without reply reads only the close', async () => {
      await listen();
      for (const bytes of [line('x'.repeat(32)), 'RVL1 what is this\n', 'a'.repeat(1100)]) {
        const caller = await peer();
        await caller.read(32);
        caller.send(bytes);
        assert.equal(await caller.readAll(), '');
      }
      assert.equal(telemetry.count('login denied'), 1);
      assert.equal(telemetry.count('login malformed'), 2);
    });

    test('a peer that keeps sending still reads ERR', async () => {
      await listen();
      const caller = await peer();
      await caller.read(32);
      caller.send(`RVL1 YQ fixed 5 1 ${'a'.repeat(40_000)}`);
      assert.equal(await caller.readAll(), 'ERR malformed\n');
      assert.equal(await caller.gone, 'end');
    });

    test('a refused peer that does not close is cut soon', async () => {
      await listen();
      const caller = await peer();
      await caller.read(32);
      caller.send('RVL1 YQ fixed 5 1 x\n');
      assert.equal(await caller.readAll(), 'ERR malformed\n');
      await front.pass(3000);
      // A closed socket answers with RST, which the peer notices at its next write.
      while (!caller.socket.destroyed) await new Promise((sent) => caller.socket.write('still here', sent));
    });

    test('a lingering refused peer does not count as a handshake', async () => {
      await listen({ handshakes_max: 1 });
      const caller = await peer();
      await caller.read(32);
      caller.send('RVL1 YQ fixed 5 1 x\n');
      assert.equal(await caller.readAll(), 'ERR malformed\n');
      const next = await peer();
      assert.equal((await next.read(32)).length, 32);
    });

    test('a refused peer that sends endlessly is cut', async () => {
      await listen();
      const caller = await peer();
      await caller.read(32);
      caller.send('RVL1 YQ fixed 5 1 x\n');
      caller.send(Buffer.alloc(8 * 1024 * 1024));
      await new Promise((closed) => caller.socket.once('close', closed));
    });

    test('bytes before the session key are malformed', async () => {
      await listen({ handshakes_per_address_max: 1 });
      const first = await peer('127.0.0.2');
      await first.read(32);
      const early = await peer('127.0.0.2');
      early.send(line('x'.repeat(32), { wantsReply: true }));
      assert.equal(await early.readAll(), '');
      assert.equal(telemetry.count('login malformed'), 1);
    });

    test('an incomplete login is closed after 10 s, with an answer if its reply field was read', async () => {
      await listen();
      const [silent, slow] = [await peer(), await peer()];
      const [, key] = [await silent.read(32), await slow.read(32)];
      const accepted = await peer();
      slow.send(line(key, { wantsReply: true }).slice(0, -10));
      accepted.send(line(await accepted.read(32)));
      await sessions.loggedIn();
      await front.pass(9999);
      assert.equal(telemetry.count('login timeout'), 0);
      await front.pass(2000);
      assert.equal(await silent.readAll(), '');
      assert.equal(await slow.readAll(), 'ERR timeout\n');
      assert.equal(telemetry.count('login timeout'), 2);
    });

    test('with an unreadable registry the port is busy, and logs it at most once a second', async () => {
      await listen();
      sessions.failure = new Error('the store is gone');
      for (let i = 0; i < 3; i++) await assert.rejects(module(), { reason: 'busy' });
      assert.equal(log.lines.filter((entry) => entry.level === 'error').length, 1);
      await front.pass(1000);
      await assert.rejects(module(), { reason: 'busy' });
      assert.equal(log.lines.filter((entry) => entry.level === 'error').length, 2);
    });

    test('a socket beyond sessions and reserved handshakes is closed without an answer', async () => {
      await listen({ max_sessions: 2 });
      const callers = await Promise.all(Array.from({ length: 2 + 256 }, () => peer()));
      await Promise.all(callers.map((caller) => caller.read(32)));
      const tooMany = await peer();
      assert.equal(await tooMany.readAll(), '');
      assert.equal(telemetry.count('login busy'), 1);
    });

    test('peers that all disconnect at once end as peer_closed over several turns', async () => {
      await listen();
      const modules = await Promise.all(
        Array.from({ length: 3 * sleepEndsPerTurnMax }, (_, i) => {
          const deviceId = `device-${i}`;
          sessions.secrets.set(deviceId, 'device-secret');
          return module({ deviceId, localAddress: `127.0.0.${1 + (i % 3)}` });
        }),
      );
      await Promise.all(modules.map((sleepingModule) => sleepingModule.close()));
      await until(() => sessions.ends.length === modules.length);
      assert.equal(telemetry.count('end peer_closed'), modules.length);
      assert.equal(listener.socketCount, 0);
    });

    test('an address full of unfinished handshakes does not delay others', async () => {
      await listen({ handshakes_per_address_max: 3 });
      const hostile = await Promise.all(Array.from({ length: 20 }, () => peer('127.0.0.2')));
      const honest = await peer('127.0.0.3');
      honest.send(line(await honest.read(32), { wantsReply: true }));
      assert.equal(await honest.read(3), 'OK\n');
      await until(() => listener.waitingCount === 17);
      assert.equal(listener.handshakeCount, 3);
      await until(() => hostile.filter(({ unread }) => unread === 32).length === 3);
    });

    test('silent handshakes are evicted for a new connection, but sessions are not', async () => {
      await listen({ handshakes_max: 40, handshakes_per_address_max: 10 });
      await module();
      const silent = await Promise.all(
        Array.from({ length: 40 }, (_, i) => peer(`127.0.4.${1 + Math.floor(i / 10)}`)),
      );
      await Promise.all(silent.map((one) => one.read(32)));
      assert.equal(listener.handshakeCount, 40);
      sessions.secrets.set('other', 'device-secret');
      await module({ deviceId: 'other' });
      assert.equal(telemetry.count('login busy'), 1);
      assert.equal(listener.sessionCount, 2);
      assert.deepEqual(sessions.ends, []);
    });

    test('a connection that waits too long for its key is busy; one that disconnects is dropped', async () => {
      await listen({ handshakes_max: 1, admission_wait_ms: 1000 });
      const first = await peer();
      await first.read(32);
      const waiting = await peer('127.0.0.2');
      await until(() => listener.waitingCount === 1);
      const impatient = await peer('127.0.0.3');
      await until(() => listener.waitingCount === 2);
      const last = await peer('127.0.0.4');
      await until(() => listener.waitingCount === 3);
      impatient.socket.destroy();
      await until(() => listener.waitingCount === 2);
      first.socket.destroy();
      assert.equal((await waiting.read(32)).length, 32);
      await front.pass(1500);
      assert.equal(await last.readAll(), '');
      assert.equal(telemetry.count('login busy'), 1);
    });

    test('a drain closes sessions at its rate, reports each once, and accepts no new ones', async () => {
      await listen();
      const names = Array.from({ length: 10 }, (_, i) => `device-${i}`);
      for (const name of names) sessions.secrets.set(name, 'device-secret');
      const modules = await Promise.all(names.map((deviceId) => module({ deviceId })));
      const underWay = await peer();
      await underWay.read(32);
      const left = listener.drain(10, 30_000);
      assert.equal(await underWay.readAll(), '');
      await assert.rejects(module(), { code: 'ECONNREFUSED' });
      await front.pass(500);
      assert.equal(sessions.ends.length, 5);
      await front.pass(500);
      assert.equal(await left, 0);
      await Promise.all(modules.map((sleepingModule) => sleepingModule.closed));
      assert.deepEqual(new Set(sessions.ends.map((end) => end.ticket.deviceId)), new Set(names));
      assert.equal(telemetry.count('end drain'), 10);
    });

    test('a close of the port closes all sockets without reports', async () => {
      await listen();
      const sleepingModule = await module();
      await front.close();
      await sleepingModule.closed;
      assert.deepEqual(sessions.ends, []);
      assert.equal(clock.pendingTimers, 0);
    });
  });
