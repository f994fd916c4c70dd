/**
 * Random walks over both session state machines, through a real directory, the ports of both gateways and a backend's query,
 * against a naive model. A failure prints its seed and path: pass both to `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HeartbeatSaver } from '../../src/core/devices/heartbeat-saver.ts';
import { reduceConnection } from '../../src/model/state/connection-session.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { disconnectDevice, disconnectEverybody } from '../../src/core/devices/disconnect-device.ts';
import { endOf } from '../support/connection-changes.ts';
import { SessionScene, testNode, type Peer, type PeerEndReason } from '../support/session-scene.ts';
import { expect, type Expected, type Fact, type Kind } from './naive-sessions.ts';

const kinds = ['sleep', 'signal'] as const;
const devices = ['D1', 'D2'] as DeviceId[];

/** `socket`: number of logins since the connection concerned was made; most steps use the latest. */
type Step =
  | { readonly what: 'login'; readonly device: DeviceId; readonly kind: Kind }
  | {
      readonly what: 'end';
      readonly device: DeviceId;
      readonly kind: Kind;
      readonly socket: number;
      readonly reason: PeerEndReason;
    }
  | { readonly what: 'heartbeat'; readonly device: DeviceId; readonly kind: Kind; readonly socket: number }
  | { readonly what: 'kick'; readonly device: DeviceId }
  | { readonly what: 'drain' | 'save' | 'crash' }
  | { readonly what: 'step'; readonly ms: number };

const device = fc.constantFrom(...devices);
const kind = fc.constantFrom(...kinds);
const socket = fc.constantFrom(0, 0, 0, 1, 1, 2, 5);
const reason = fc.constantFrom<PeerEndReason[]>('peer_closed', 'reset', 'heartbeat_timeout');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ what: fc.constant('login'), device, kind }) },
  { weight: 8, arbitrary: fc.record({ what: fc.constant('end'), device, kind, socket, reason }) },
  { weight: 8, arbitrary: fc.record({ what: fc.constant('heartbeat'), device, kind, socket }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('kick'), device }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom('drain', 'save', 'save', 'crash', 'crash') }) },
  // Mostly within a second, in both directions.
  {
    weight: 5,
    arbitrary: fc.record({ what: fc.constant('step'), ms: fc.integer({ min: -2500, max: 3500 }) }),
  },
);

/** The server during a walk, and the facts for the model. Canaries override the protected members. */
class Walk {
  readonly scene = new SessionScene();
  readonly facts: Fact[] = [];
  /** Words of the published events, by the step that caused them. */
  readonly published: string[][] = [];
  /** Peers by device and kind; the connection of epoch k is number k. */
  readonly peers = new Map<string, Peer[]>();

  constructor() {
    // A walk passes no time, so login rates must not apply.
    this.scene.loginRates = { acquire: () => true };
    this.scene.conflicts = { replaced: () => undefined };
    for (const deviceId of devices) {
      this.scene.registry.addDevice({ deviceId });
      for (const name of kinds) this.peers.set(`${deviceId} ${name}`, []);
    }
  }

  runStep(taken: Step): void {
    const { scene } = this;
    const before = scene.events.length;
    const fact = this.perform(taken);
    if (fact === null) return;
    this.facts.push(fact);
    this.published.push(scene.events.slice(before).map((event) => this.#notify(event)));
  }

  peersOf(deviceId: DeviceId, name: Kind): Peer[] {
    return this.peers.get(`${deviceId} ${name}`) ?? [];
  }

  /** Performs a step. Returns what happened; null: nothing, since there is no such connection. */
  perform(taken: Step): Fact | null {
    const { scene } = this;
    const atMs = scene.clock.wallMs();
    switch (taken.what) {
      case 'login':
        this.login(taken.device, taken.kind);
        return { ...taken, atMs };
      case 'end':
      case 'heartbeat': {
        const peer = this.peersOf(taken.device, taken.kind).at(-1 - taken.socket);
        if (peer === undefined) return null;
        if (taken.what === 'heartbeat') peer.heartbeat();
        else this.end(peer, taken.reason, taken.kind);
        return { ...taken, epoch: peer.epoch, atMs };
      }
      case 'kick':
        disconnectDevice(scene.deps, taken.device, 'kicked');
        return { ...taken, atMs };
      case 'drain':
        disconnectEverybody(scene.deps, 'drain');
        return { what: 'drain', atMs };
      case 'save':
        new HeartbeatSaver(scene.directory).saveAll();
        return { what: 'save', atMs };
      case 'crash':
        this.crash();
        return { what: 'crash', atMs };
      case 'step':
        scene.clock.stepWall(taken.ms);
        return { what: 'step', atMs };
    }
  }

  login(deviceId: DeviceId, name: Kind): void {
    this.peersOf(deviceId, name).push(this.scene[name].login(deviceId));
  }

  end(peer: Peer, why: PeerEndReason, _name: Kind): void {
    peer.end(why);
  }

  /** The process loses its memory; the next one ends the sessions that the records have as open, before it admits logins. */
  crash(): void {
    const { scene } = this;
    const atMs = scene.clock.wallMs();
    for (const name of kinds)
      for (const [deviceId, record] of scene[name].records.records) {
        if (record.openSession === null) continue;
        const lost = {
          kind: 'ended',
          session: record.openSession,
          reason: 'node_lost',
          atMs,
          heartbeatAt: 0,
        } as const;
        const next = reduceConnection(record, lost);
        for (const effect of next.effects) {
          assert.ok(effect.kind === 'save' && effect.change !== null);
          const { session, epoch } = effect.change;
          const { reason } = lost;
          const end = endOf({ connection: name, session, epoch, atMs, node: testNode, reason });
          scene[name].records.write(deviceId, next.record, end);
        }
      }
    scene.directory = scene.newDirectory();
  }

  #notify(event: SessionScene['events'][number]): string {
    const { scene } = this;
    const name = kinds.find((of) => event.type === scene[of].opened || event.type === scene[of].closed);
    return name === undefined
      ? event.type
      : `${event.deviceId} ${name} ${scene[name].notify(event)} at ${event.atMs}`;
  }
}

function checkAll(walk: Walk): void {
  const { scene, facts } = walk;
  const published: string[][] = facts.map(() => []);
  let here = 0;
  for (const deviceId of devices) {
    const expected = { sleep: expect(facts, deviceId, 'sleep'), signal: expect(facts, deviceId, 'signal') };
    for (const name of kinds) {
      checkConnection(walk, deviceId, name, expected[name]);
      for (const { by, words } of expected[name].published) published[by]?.push(words);
    }
    assert.equal(scene.isOnline(deviceId), expected.signal.openEpoch > 0, `${deviceId} is_online`);
    const isHere = expected.sleep.openEpoch > 0 || expected.signal.openEpoch > 0;
    assert.equal(scene.directory.find(deviceId) !== null, isHere, `${deviceId} has an actor`);
    here += isHere ? 1 : 0;
  }
  assert.equal(scene.directory.size, here);
  // The events of one fact that ends several sessions may be in any order; facts are in order.
  assert.deepEqual(walk.published.map(inAnyOrder), published.map(inAnyOrder));
}

function inAnyOrder(words: readonly string[]): string {
  return words.toSorted().join('; ');
}

function checkConnection(walk: Walk, deviceId: DeviceId, name: Kind, expected: Expected): void {
  const door = walk.scene[name];
  const peers = walk.peersOf(deviceId, name);
  const about = `${deviceId} ${name}`;
  assert.equal(door.epoch(deviceId), expected.openEpoch, `${about}: open epoch`);
  assert.equal(door.records.records.get(deviceId)?.epoch ?? 0, expected.lastEpoch, `${about}: kept epoch`);
  assert.deepEqual(door.times(deviceId), expected.times, `${about}: times`);
  const open = expected.openEpoch === 0 ? null : (peers[expected.openEpoch - 1]?.ticket.sessionId ?? '');
  assert.equal(door.records.records.get(deviceId)?.openSession ?? null, open, `${about}: open session`);
  for (const [i, peer] of peers.entries()) {
    assert.equal(peer.epoch, i + 1, `${about}: epochs are given in order`);
    const why = expected.closes[i] ?? null;
    assert.equal(peer.closes.join(), why ?? '', `${about}: closes of ${peer.epoch}`);
  }
}

/** Asserts that every session in the events has one id from its login to its end, which no other session has. */
function checkSessionIds(walk: Walk): void {
  const owners = new Map<string, string>();
  for (const { type, deviceId, epoch, data } of walk.scene.events) {
    const owner = `${deviceId} ${type.split('.')[1]} ${epoch}`;
    const session = 'session' in data ? String(data.session) : '';
    assert.equal(owners.get(session) ?? owner, owner, 'a session id is given once');
    owners.set(session, owner);
  }
}

function walkWith(start: () => Walk): fc.IPropertyWithHooks<[Step[]]> {
  return fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
    const walk = start();
    for (const taken of steps) {
      walk.runStep(taken);
      checkAll(walk);
    }
    checkSessionIds(walk);
  });
}

test('both state machines agree with a naive model after every step', () => {
  fc.assert(
    walkWith(() => new Walk()),
    { numRuns: 2500 },
  );
});

class IgnoresWhoEnds extends Walk {
  override end(peer: Peer, why: PeerEndReason, name: Kind): void {
    const { deviceId } = peer.ticket;
    const sessionId = this.scene.directory.find(deviceId)?.session(name) ?? peer.ticket.sessionId;
    this.scene[name].end({ ...peer.ticket, sessionId }, why, 0);
  }
}

class ForgetsEpochsInACrash extends Walk {
  override crash(): void {
    super.crash();
    for (const name of kinds) this.scene[name].records.records.clear();
  }
}

for (const Broken of [IgnoresWhoEnds, ForgetsEpochsInACrash])
  test(`canary: a server that ${Broken.name} fails the walk, and the failure says its seed`, () => {
    const result = fc.check(
      walkWith(() => new Broken()),
      { numRuns: 300, endOnFailure: true },
    );
    assert.equal(result.failed, true);
    assert.match(fc.defaultReportMessage(result) ?? '', /seed: -?\d+, path: /);
  });
