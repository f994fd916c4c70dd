/** Logins at both ports: one suite for the rules that apply to both kinds of session, run through each port. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import type { Device } from '../../../../src/model/registry.ts';
import { signalSessions } from '../../../../src/core/devices/admit-session.ts';
import { testDevice } from '../../../support/fakes.ts';
import { SessionScene, type AdmitOptions } from '../../../support/session-scene.ts';

const other = 'OTHER' as DeviceId;

const denials: { name: string; device?: Partial<Device>; login?: AdmitOptions }[] = [
  { name: 'an unknown device', login: { deviceId: 'NOBODY' as DeviceId } },
  { name: 'a wrong proof', login: { secret: 'another secret' } },
  { name: 'a disabled device', device: { disabled: true } },
  { name: 'an expired device', device: { expiresAt: 1 } },
  { name: 'a device that expires now', device: { expiresAt: 1_795_163_400 } },
];

const kinds = [
  {
    kind: 'sleep',
    another: 'signal',
    records: 'sleepRecords',
    port: 'port',
    gets: 'a session and the first epoch',
    denied: (name: string, hasRoom: boolean) =>
      `${name} is denied and opens nothing${hasRoom ? '' : ', where there is no room'}`,
    firstOf: 'the first sleep login of a device that is online',
  },
  {
    kind: 'signal',
    another: 'sleep',
    records: 'signalRecords',
    port: 'listener',
    gets: 'a session, the first epoch, and is online',
    denied: (name: string, hasRoom: boolean) =>
      `${name} is denied in one word and opens nothing, where there is ${hasRoom ? '' : 'no '}room`,
    firstOf: 'the first signal login of a sleeping device',
  },
] as const;

for (const { kind, another, records, port, gets, denied, firstOf } of kinds) {
  test(`a login with the right proof gets ${gets}`, () => {
    const scene = new SessionScene();
    const peer = scene[kind].login();
    assert.equal(peer.epoch, 1);
    assert.equal(peer.ticket.deviceId, testDevice);
    assert.equal(scene[records].records.get(testDevice)?.openSession, peer.ticket.sessionId);
    assert.equal(scene.isOnline(), kind === 'signal');
  });

  for (const { name, device, login } of denials)
    for (const hasRoom of [true, false])
      test(denied(name, hasRoom), () => {
        const scene = new SessionScene();
        if (device !== undefined) scene.registry.addDevice(device);
        assert.equal(scene[kind].admit({ ...login, hasRoom }), 'denied');
        assert.equal(scene.directory.size, 0);
        assert.deepEqual(scene.events, []);
      });

  test(`a full ${port} is busy for a new device and open for one that replaces its own session`, () => {
    const scene = new SessionScene();
    scene.registry.addDevice({ deviceId: other });
    const old = scene[kind].login();
    assert.equal(scene[kind].admit({ deviceId: other, hasRoom: false }), 'busy');
    assert.equal(scene.directory.size, 1, 'the one that was refused left nothing behind');
    assert.ok(typeof scene[kind].admit({ hasRoom: false }) === 'object');
    assert.deepEqual(old.closes, ['replaced']);
  });

  test(`${firstOf} replaces nothing: a full ${port} is busy for it`, () => {
    const scene = new SessionScene();
    const peer = scene[another].login();
    assert.equal(scene[kind].admit({ hasRoom: false }), 'busy');
    assert.deepEqual([scene[another].epoch(), scene[kind].epoch()], [peer.epoch, 0]);
    assert.deepEqual(peer.closes, []);
    assert.equal(scene.isOnline(), another === 'signal');
  });

  test('a store that is far behind opens no session, but admits a replacing login', () => {
    const scene = new SessionScene();
    scene.overloaded = true;
    assert.equal(scene[kind].admit(), 'busy');
    assert.equal(scene.directory.size, 0);
    scene.overloaded = false;
    scene[another].login();
    scene.overloaded = true;
    assert.equal(scene[kind].admit(), 'busy');
    assert.equal(scene[kind].admit({ secret: 'wrong' }), 'denied', 'busy only after the proof');
    scene.overloaded = false;
    scene[kind].login();
    scene.overloaded = true;
    assert.equal(scene[kind].login().epoch, 2);
  });
}

test('a full port reveals nothing to a stranger: a wrong proof is denied, not busy', () => {
  const scene = new SessionScene();
  assert.equal(scene.sleep.admit({ secret: 'wrong', hasRoom: false }), 'denied');
});

test('a device that expires in a second is still admitted', () => {
  const scene = new SessionScene();
  scene.registry.addDevice({ expiresAt: 1_795_163_401 });
  assert.equal(scene.signal.login().epoch, 1);
});

test('an unreadable registry or record is thrown and leaves no actor', () => {
  for (const broken of ['registry', 'sleepRecords'] as const) {
    const scene = new SessionScene();
    scene[broken].failure = new Error(`${broken} cannot be read`);
    assert.throws(() => scene.sleep.admit(), scene[broken].failure);
    assert.equal(scene.directory.size, 0);
    assert.deepEqual(scene.events, []);
  }
});

for (const broken of ['registry', 'signalRecords'] as const) {
  test(`a failed read (${broken}) is thrown and leaves no actor`, () => {
    const scene = new SessionScene();
    scene[broken].failure = new Error(`${broken} cannot be read`);
    assert.throws(() => scene.signal.admit(), scene[broken].failure);
    assert.equal(scene.directory.size, 0);
    scene[broken].failure = null;
    assert.deepEqual(scene.events, []);
    assert.equal(scene.signal.login().epoch, 1, 'and the next login is the first');
  });
}

test('a signal record that cannot be read leaves a sleeping device asleep', () => {
  const scene = new SessionScene();
  const module = scene.sleep.login();
  scene.signalRecords.failure = new Error('the store cannot be read');
  assert.throws(() => scene.signal.admit(), scene.signalRecords.failure);
  assert.deepEqual([scene.directory.size, scene.sleep.epoch(), scene.signal.epoch()], [1, 1, 0]);
  assert.deepEqual(module.closes, []);
});

test('capabilities are in the online event of their own login, and in no other', () => {
  const scene = new SessionScene();
  const media = { video: { codecs: ['H264'], width: 1280 } };
  const first = scene.signal.admit({ media });
  assert.ok(typeof first === 'object');
  scene.signal.login().end('peer_closed');
  assert.deepEqual(
    scene.events.map(({ data }) => ('media' in data ? data.media : null)),
    [media, null, null],
  );
});

test('a login is committed when its own record is, whatever its module waits for', async () => {
  const scene = new SessionScene();
  const { ticket } = scene.signal.login();
  const sessions = signalSessions(scene.deps);
  scene.sleepRecords.outstanding = new Promise(() => undefined);
  assert.equal(sessions.committed(ticket), 1);
  let commit = (): void => undefined;
  scene.signalRecords.outstanding = new Promise((resolve) => (commit = resolve));
  const committed = sessions.committed(ticket);
  assert.ok(committed instanceof Promise);
  commit();
  assert.equal(await committed, 1);
});

test('a login that the store refuses gets no epoch', async () => {
  const scene = new SessionScene();
  scene.signalRecords.outstanding = Promise.reject(new Error('the disk is full'));
  const committed = signalSessions(scene.deps).committed(scene.signal.login().ticket);
  await assert.rejects(Promise.resolve(committed), /disk is full/);
});

test('a login gets the epoch that all members use, and one that is over keeps its own', async () => {
  const scene = new SessionScene();
  let commit = (): void => undefined;
  scene.signalRecords.outstanding = new Promise((resolve) => (commit = resolve));
  const sessions = signalSessions(scene.deps);
  const old = scene.signal.login();
  const [toldOld, young] = [sessions.committed(old.ticket), scene.signal.login()];
  const toldYoung = sessions.committed(young.ticket);
  const times = { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null };
  const slot = { connection: 'signal', deviceId: testDevice, session: young.ticket.sessionId } as const;
  scene.directory.find(testDevice)?.adopt({ ...slot, epoch: 9, times, superseded: [] });
  commit();
  assert.deepEqual([await toldOld, await toldYoung], [1, 9]);
});

test('a wake report is passed on with its device and session', () => {
  const scene = new SessionScene();
  const { ticket } = scene.signal.login();
  const report = { cause: 'remote', requestId: null } as const;
  signalSessions(scene.deps).wakeReported(ticket, report);
  assert.deepEqual(scene.reports, [{ deviceId: testDevice, sessionId: ticket.sessionId, report }]);
});

test('a rejection of a call is passed on with its device', () => {
  const scene = new SessionScene();
  const { ticket } = scene.signal.login();
  const rejection = { sessionId: 'session-1' as SessionId, reason: 'busy' } as const;
  signalSessions(scene.deps).callRejected(ticket, rejection);
  assert.deepEqual(scene.rejections, [{ deviceId: testDevice, rejection }]);
});
