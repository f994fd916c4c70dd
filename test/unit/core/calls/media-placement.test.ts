import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MediaPlacement } from '../../../../src/core/calls/media-placement.ts';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import type { MediaCapacity } from '../../../../src/model/media/media-capacity.ts';
import { CallScene, orderForRoom } from '../../../support/call-scene.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';

class PlacementScene extends CallScene {
  /** Of those that are up, by their numbers. */
  readonly rooms = new Map<number, number>();
  /** The processes with bridges. */
  readonly bridgesAt = new Set<number>();
  /** Where each call takes more than elsewhere, and room is told in those. */
  largeAt: number | null = null;
  readonly placement: MediaPlacement;
  #calls = 0;

  constructor(...rooms: number[]) {
    super();
    for (const [process, room] of rooms.entries()) this.rooms.set(process, room);
    this.placement = new MediaPlacement({
      directory: this.directory,
      capacity: () => this.#capacity(),
      hasBridgeAt: (process) => this.bridgesAt.has(process),
    });
    this.directory.follow(this.placement);
  }

  newCall(): SessionId {
    this.#calls += 1;
    const deviceId = `device-${this.#calls}` as DeviceId;
    return this.issue(orderForRoom(`room-${this.#calls}`, { deviceId }));
  }

  bridgeComes(call: SessionId, process: number): FakeCallLeg {
    const leg = new FakeCallLeg(process);
    assert.ok(this.directory.connectBridge(call, leg));
    return leg;
  }

  #capacity(): MediaCapacity[] {
    return [...this.rooms].map(([process, room]) => {
      const worker = { busy: 0, taken: 1 - room / 10, room: process === this.largeAt ? room / 5 : room };
      return {
        process,
        address: '',
        legs: 0,
        sessions: 0,
        workers: [worker],
        engine: '8',
        soundEncoders: [],
      };
    });
  }
}

test('a call goes where there is the most room, and those that are on their way there count', () => {
  const scene = new PlacementScene(2, 4);
  const places = Array.from({ length: 6 }, () => scene.placement.placeOf(scene.newCall()));
  assert.deepEqual(places, [1, 1, 0, 1, 0, 1]);
});

test('it is the time of the workers that counts, however large the calls are by which each tells its room', () => {
  const scene = new PlacementScene(9, 5);
  scene.largeAt = 0;
  assert.equal(scene.placement.placeOf(scene.newCall()), 0);
});

test('a call that was placed stays there, however full its process is by then', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.deepEqual([scene.placement.find(call), scene.placement.placeOf(call)], [null, 0]);
  scene.rooms.set(0, 0);
  assert.equal(scene.placement.placeOf(call), 0);
  assert.equal(scene.placement.placeOfLeg(call, 1), 0);
  assert.deepEqual(scene.placement.order(call), [0, 1], 'whose bridges are asked first');
});

test('bridges stand at one process: a call that waits for one of them is placed there', () => {
  const scene = new PlacementScene(5, 4);
  scene.bridgesAt.add(1);
  assert.equal(scene.placement.placeOf(scene.newCall()), 1);
});

test('a call that no leg has come to goes to another process when its own is gone', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.rooms.delete(0);
  assert.equal(scene.placement.placeOfLeg(call, 1), 1);
  assert.equal(scene.placement.placeOf(call), 1);
  scene.rooms.delete(1);
  assert.equal(scene.placement.placeOf(call), null);
});

test('from its first leg on a call is at one process, also while that one is gone', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  const leg = scene.bridgeComes(call, 1);
  scene.rooms.delete(1);
  scene.directory.disconnected(call, 'bridge', leg);
  assert.deepEqual([scene.placement.placeOf(call), scene.placement.placeOfLeg(call, 0)], [1, 1]);
  assert.deepEqual(scene.placement.order(call), [1]);
  assert.deepEqual([scene.placement.mayBeAt(call, 0), scene.placement.mayBeAt(call, 1)], [false, true]);
  assert.equal(scene.directory.connectDevice(call, 'token-1' as TokenId, new FakeCallLeg(0)), false);
});

test('the first leg of a call without a place stays where it has come', () => {
  const scene = new PlacementScene(9, 1);
  assert.equal(scene.placement.placeOfLeg(scene.newCall(), 1), 1);
});

test('calls that have come since a process told its load count until it tells it again', () => {
  const scene = new PlacementScene(3, 2);
  for (const _ of [1, 2]) scene.bridgeComes(scene.newCall(), 0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 1);
  scene.placement.loadTold(0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 0);
});

test('the end of a call forgets where it was to be', () => {
  const scene = new PlacementScene(2, 1);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.directory.end(call, 'cancelled');
  assert.equal(scene.placement.placeOf(scene.newCall()), 0, 'nothing is expected there any more');
});
