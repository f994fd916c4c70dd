/** The sleep port with a certificate and behind a load balancer. Source: sleep-wire.md, TLS. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { SleepListener } from '../../src/edge/listener.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSleepSessions } from '../support/fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { sleepFronts, type SleepFront } from '../support/sleep-fronts.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const skip = noOpenssl;
const certificate = new TestCertificate(temporaryDirectory({ after }));
/** 203.0.113.7 or 203.0.113.8 to 192.0.2.1:8081. */
const proxyHeader = (last: '07' | '08'): Buffer =>
  Buffer.from(`0d0a0d0a000d0a515549540a2111000ccb0071${last}c0000201c3501f91`, 'hex');

for (const { name, make } of sleepFronts)
  describe(`the sleep port ${name}`, () => {
    let clock: DrivenClock;
    let sessions: FakeSleepSessions;
    let telemetry: FakeTelemetry;
    let front: SleepFront;
    let listener: SleepListener;
    let port: number;
    const peers: RawPeer[] = [];

    beforeEach(() => {
      clock = new DrivenClock();
      sessions = new FakeSleepSessions();
      telemetry = new FakeTelemetry();
    });

    afterEach(async () => {
      for (const peer of peers.splice(0)) peer.socket.destroy();
      await front.close();
    });

    async function listen(settings: Partial<SleepSettings>): Promise<void> {
      front = await make({ clock, sessions, telemetry, log: new FakeLog() }, settings);
      ({ listener } = front);
      port = listener.address.port;
    }

    function listenTls(settings: Partial<SleepSettings> = {}): Promise<void> {
      certificate.use('first');
      return listen({ ...certificate.settings, ...settings });
    }

    async function peer(): Promise<RawPeer> {
      const peer = await RawPeer.connect(port);
      peers.push(peer);
      return peer;
    }

    /** A TLS peer that trusts one of the certificates; `before` is sent in plain first, in the same segment if possible. */
    async function securePeer(trusted = 'first', before?: Buffer): Promise<RawPeer> {
      const plain = await peer();
      plain.socket.removeAllListeners('data');
      if (before !== undefined) plain.send(before);
      const socket = connectTls({
        socket: plain.socket,
        host: '127.0.0.1',
        ca: certificate.certificateOf(trusted),
      });
      const secure = new RawPeer(socket);
      peers.push(secure);
      return secure;
    }

    function line(sessionKey: string): string {
      const module = { deviceId: 'TESTDEVICE01', secret: 'device-secret' };
      return encodeLoginLine(
        { ...module, wakeMode: 'custom', heartbeatSeconds: 5, wantsReply: true },
        sessionKey,
      );
    }

    async function logIn(peer: RawPeer): Promise<void> {
      peer.send(line(await peer.read(32)));
      assert.equal(await peer.read(3), 'OK\n');
    }

    function commonName(peer: RawPeer): string | undefined {
      return peer.socket instanceof TLSSocket ? peer.socket.getPeerCertificate().subject.CN : undefined;
    }

    test('a module logs in and is woken over TLS', { skip }, async () => {
      await listenTls();
      const module = await securePeer();
      await logIn(module);
      assert.equal(await sessions.connection().wake(Buffer.from([1, 2])), 'written');
      assert.equal(Buffer.from(await module.read(8), 'latin1').toString('hex'), '983b16f8f39c0102');
    });

    test('a TLS session whose peer disconnects abruptly is reset', { skip }, async () => {
      await listenTls();
      const module = await securePeer();
      await logIn(module);
      peers[0]?.socket.resetAndDestroy();
      assert.equal((await sessions.endedSessions())[0]?.reason, 'reset');
    });

    test('invalid TLS records after the handshake end the session as reset', { skip }, async () => {
      await listenTls();
      const module = await securePeer();
      await logIn(module);
      const handle = peers[0];
      assert(handle !== undefined);
      handle.send(Buffer.alloc(100, 0x7f));
      assert.equal((await sessions.endedSessions())[0]?.reason, 'reset');
    });

    test('a peer without TLS is closed, and counted as malformed', { skip }, async () => {
      await listenTls();
      const caller = await peer();
      caller.send('RVL1 this is no client hello\n');
      await caller.gone;
      assert.equal(telemetry.count('login malformed'), 1);
      assert.equal(listener.handshakeCount, 0);
    });

    test('an unfinished TLS handshake is closed after 10 s', { skip }, async () => {
      await listenTls();
      const caller = await peer();
      const watcher = await securePeer();
      await watcher.read(32);
      await front.pass(12_000);
      assert.equal(await caller.readAll(), '');
      assert.equal(telemetry.count('login timeout'), 2);
    });

    test('a queued TLS peer loses nothing of its hello', { skip }, async () => {
      await listenTls({ handshakes_max: 1 });
      const first = await securePeer();
      const key = await first.read(32);
      const second = await securePeer();
      first.send(line(key));
      assert.equal(await first.read(3), 'OK\n');
      await logIn(second);
    });

    test('new connections see the reloaded certificate, and old ones continue', { skip }, async () => {
      await listenTls();
      const older = await securePeer();
      await logIn(older);
      certificate.use('second');
      listener.reloadTls();
      const newer = await securePeer('second');
      assert.equal((await newer.read(32)).length, 32);
      assert.deepEqual([commonName(older), commonName(newer)], ['first', 'second']);
      assert.equal(await sessions.connection().wake(null), 'written');
    });

    test('behind a balancer the session key is sent after the PROXY header', async () => {
      await listen({ proxy_protocol: true });
      const module = await peer();
      for (const byte of proxyHeader('07')) module.send(Buffer.from([byte]));
      await logIn(module);
    });

    test('a connection without a header, or with bytes right after it, is malformed', async () => {
      await listen({ proxy_protocol: true });
      for (const bytes of ['RVL1 hello', Buffer.concat([proxyHeader('07'), Buffer.from('RVL1 ')])]) {
        const caller = await peer();
        caller.send(bytes);
        assert.equal(await caller.readAll(), '');
      }
      assert.equal(telemetry.count('login malformed'), 2);
    });

    test('a connection without a header times out', async () => {
      await listen({ proxy_protocol: true });
      const caller = await peer();
      const module = await peer();
      module.send(proxyHeader('07'));
      await logIn(module);
      await front.pass(11_000);
      assert.equal(await caller.readAll(), '');
      assert.equal(telemetry.count('login timeout'), 1);
    });

    test('a PROXY header and the TLS hello in one segment are accepted', { skip }, async () => {
      await listenTls({ proxy_protocol: true });
      const plain = await peer();
      plain.socket.removeAllListeners('data');
      plain.socket.cork();
      plain.send(proxyHeader('07'));
      const secure = new RawPeer(
        connectTls({ socket: plain.socket, host: '127.0.0.1', ca: certificate.certificateOf('first') }),
      );
      peers.push(secure);
      plain.socket.uncork();
      await logIn(secure);
    });
  });
