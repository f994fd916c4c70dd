import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MediaPlacement } from '../../../../src/core/calls/media-placement.ts';
import type { DeviceId, SessionId, TokenId } from '../../../../src/model/ids.ts';
import type { MediaCapacity } from '../../../../src/model/media/media-capacity.ts';
import { CallScene, orderForRoom } from '../../../support/call-scene.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';

class PlacementScene extends CallScene {
  /** Live processes, by number. */
  readonly rooms = new Map<number, number>();
  readonly bridgesAt = new Set<number>();
  /** Processes whose calls cost more, and which measure their room in such calls. */
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

test('a call is placed at the process with the most room, and expected calls count', () => {
  const scene = new PlacementScene(2, 4);
  const places = Array.from({ length: 6 }, () => scene.placement.placeOf(scene.newCall()));
  assert.deepEqual(places, [1, 1, 0, 1, 0, 1]);
});

test('placement compares the time of the workers, not the calls in which each process measures its room', () => {
  const scene = new PlacementScene(9, 5);
  scene.largeAt = 0;
  assert.equal(scene.placement.placeOf(scene.newCall()), 0);
});

test('a placed call stays at its process, however full it is by then', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.deepEqual([scene.placement.find(call), scene.placement.placeOf(call)], [null, 0]);
  scene.rooms.set(0, 0);
  assert.equal(scene.placement.placeOf(call), 0);
  assert.equal(scene.placement.placeOfLeg(call, 1), 0);
  assert.deepEqual(scene.placement.order(call), [0, 1], 'whose bridges are asked first');
});

test('with bridges at one process only, a call that waits for one is placed there', () => {
  const scene = new PlacementScene(5, 4);
  scene.bridgesAt.add(1);
  assert.equal(scene.placement.placeOf(scene.newCall()), 1);
});

test('a call without a leg moves to another process when its own ends', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.rooms.delete(0);
  assert.equal(scene.placement.placeOfLeg(call, 1), 1);
  assert.equal(scene.placement.placeOf(call), 1);
  scene.rooms.delete(1);
  assert.equal(scene.placement.placeOf(call), null);
});

test('from its first leg on a call stays at one process, even after that one ended', () => {
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

test('the first leg of an unplaced call stays at its process', () => {
  const scene = new PlacementScene(9, 1);
  assert.equal(scene.placement.placeOfLeg(scene.newCall(), 1), 1);
});

test('calls that connected since the last load report count until the next one', () => {
  const scene = new PlacementScene(3, 2);
  for (const _ of [1, 2]) scene.bridgeComes(scene.newCall(), 0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 1);
  scene.placement.loadReported(0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 0);
});

test('the end of a call drops its place', () => {
  const scene = new PlacementScene(2, 1);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.directory.end(call, 'cancelled');
  assert.equal(scene.placement.placeOf(scene.newCall()), 0, 'nothing is expected there any more');
});
