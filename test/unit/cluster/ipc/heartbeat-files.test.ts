/** Heartbeats as the processes of a machine read them of each other. Source: docs/cluster.md, Several processes. */
import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HeartbeatFile, HeartbeatFiles } from '../../../../src/cluster/ipc/heartbeat-files.ts';
import { HeartbeatTable } from '../../../../src/cluster/ipc/heartbeat-table.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../../../src/model/ids.ts';
import { FakeLog, testDevice } from '../../../support/fakes.ts';
import { SessionScene, type Peer } from '../../../support/session-scene.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const [one, two] = ['a/b/1@first', 'a/b/2@first'] as MemberId[] as [MemberId, MemberId];

/** One member with sessions, and another that asks. */
class Site {
  readonly scene = new SessionScene();
  readonly log = new FakeLog();
  readonly directory: string;
  readonly file: HeartbeatFile;
  readonly files: HeartbeatFiles;

  constructor(t: Ending) {
    const ending = lastFirst(t);
    this.directory = temporaryDirectory(ending);
    this.file = this.open(ending, one);
    this.files = new HeartbeatFiles(this.directory, two);
    ending.after(() => this.files.close());
  }

  open(t: Ending, member: MemberId): HeartbeatFile {
    const file = new HeartbeatFile(this.directory, member, { clock: this.scene.clock, log: this.log });
    t.after(() => file.close());
    return file;
  }

  write(): Promise<void> {
    return this.file.write(this.scene.directory);
  }

  /** In another turn than before. */
  ask({ ticket }: Peer, member = one): number {
    this.files.refresh();
    return this.files.heartbeatOf(member, ticket.sessionId);
  }

  get nowS(): number {
    return Math.floor(this.scene.clock.wallMs() / 1000);
  }
}

test('another process reads when a session was last heard of, of both kinds, as it was last written', async (t) => {
  const site = new Site(t);
  const peers = [site.scene.sleep.login(), site.scene.signal.login()];
  const [module, controller] = peers as [Peer, Peer];
  assert.deepEqual(
    peers.map((peer) => site.ask(peer)),
    [0, 0],
    'nothing is written yet',
  );
  module.heartbeat();
  await site.write();
  const firstS = site.nowS;
  assert.deepEqual(
    peers.map((peer) => site.ask(peer)),
    [firstS, 0],
  );
  site.scene.clock.advance(7000);
  module.heartbeat();
  controller.heartbeat();
  assert.deepEqual(
    peers.map((peer) => site.ask(peer)),
    [firstS, 0],
    'what was heard since is not written',
  );
  await site.write();
  assert.deepEqual(
    peers.map((peer) => site.ask(peer)),
    [firstS + 7, firstS + 7],
  );
});

test('within one turn the same is read, and the file is looked at once', async (t) => {
  const site = new Site(t);
  const module = site.scene.sleep.login();
  module.heartbeat();
  await site.write();
  const beforeS = site.ask(module);
  site.scene.clock.advance(1000);
  module.heartbeat();
  await site.write();
  assert.equal(site.files.heartbeatOf(one, module.ticket.sessionId), beforeS);
  assert.equal(site.ask(module), beforeS + 1);
});

test('sessions are found while they come and go, however many have been here', async (t) => {
  const site = new Site(t);
  const peers: Peer[] = [];
  for (const size of [1, 40, 300, 5000]) {
    while (peers.length < size) {
      const { deviceId } = site.scene.registry.addDevice({ deviceId: `D${peers.length}` as DeviceId });
      peers.push(site.scene.sleep.login(deviceId));
    }
    site.scene.clock.advance(1000);
    for (const peer of peers) peer.heartbeat();
    await site.write();
    assert.ok(peers.every((peer) => site.ask(peer) === site.nowS));
  }
  for (let round = 0; round < 5; round++) {
    site.scene.clock.advance(1000);
    for (const [place, { ticket }] of peers.entries()) {
      const again = site.scene.sleep.login(ticket.deviceId);
      again.heartbeat();
      peers[place] = again;
    }
    await site.write();
    assert.ok(peers.every((peer) => site.ask(peer) === site.nowS));
  }
  const { size } = statSync(join(site.directory, '1.heartbeats'));
  assert.ok(size < 5000 * 100, 'what is over takes no room for ever');
});

test('a heartbeat of the second in which the file was written is in the next one', async (t) => {
  const site = new Site(t);
  const [early, late] = [site.scene.sleep.login(), site.scene.signal.login()];
  early.heartbeat();
  await site.write();
  late.heartbeat();
  site.scene.clock.advance(1000);
  await site.write();
  const heardS = site.nowS - 1;
  assert.deepEqual([site.ask(early), site.ask(late)], [heardS, heardS]);
});

test('a member that is not there, or whose file is cut, has no heartbeats; its next life is read', async (t) => {
  const site = new Site(t);
  const module = site.scene.sleep.login(testDevice);
  module.heartbeat();
  const absent = 'a/b/3@first' as MemberId;
  assert.equal(site.ask(module, absent), 0);
  await site.write();
  assert.equal(site.ask(module), site.nowS);
  const next = site.open(t, one);
  assert.equal(site.ask(module), 0, 'it has written nothing yet');
  await next.write(site.scene.directory);
  assert.equal(site.ask(module), site.nowS);
  assert.equal(site.ask(module, 'a/b/1@second' as MemberId), site.nowS);
});

test('what is its own is not read from the file', async (t) => {
  const site = new Site(t);
  const module = site.scene.sleep.login();
  module.heartbeat();
  await site.write();
  const own = new HeartbeatFiles(site.directory, one);
  assert.equal(own.heartbeatOf(one, module.ticket.sessionId), 0);
});

test('a file that cannot be written is told once in the log, and tried on', async (t) => {
  const directory = temporaryDirectory(t);
  const log = new FakeLog();
  const scene = new SessionScene();
  const file = new HeartbeatFile(directory, one, { clock: scene.clock, log });
  await file.close();
  rmSync(join(directory, '1.heartbeats'));
  await file.write(scene.directory);
  await file.write(scene.directory);
  assert.equal(log.lines.length, 1);
});

test('a full table of sessions finds each with its own time, and none that is not in it', () => {
  const table = new HeartbeatTable(new Uint32Array(2 * 4096));
  const sessions: SessionId[] = [];
  for (let id = generateSessionId(); table.put(id, sessions.length + 1); id = generateSessionId())
    sessions.push(id);
  assert.ok(sessions.length > 2048, 'most of it is used');
  assert.ok(sessions.every((id, place) => table.find(id) === place + 1));
  assert.ok(sessions.every(() => table.find(generateSessionId()) === 0));
  const [first] = sessions;
  assert.ok(first !== undefined && table.put(first, 9) && table.find(first) === 9, 'it needs no new place');
  table.clear();
  assert.ok(sessions.every((id) => table.find(id) === 0 && table.put(id, 7)));
});
