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
  /** Where each call takes more than elsewhere, and room is told in those. */
  largeAt: number | null = null;
  readonly placement: MediaPlacement;
  #calls = 0;

  constructor(...rooms: number[]) {
    super();
    for (const [process, room] of rooms.entries()) this.rooms.set(process, room);
    this.placement = new MediaPlacement({ directory: this.directory, capacity: () => this.#capacity() });
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

  deviceComes(call: SessionId, process: number): FakeCallLeg {
    const leg = new FakeCallLeg(process);
    assert.ok(this.directory.connectDevice(call, 'token-1' as TokenId, leg));
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

test('a call that was placed stays there while there is room, whoever asks', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.rooms.set(1, 9);
  assert.deepEqual([scene.placement.placeOf(call), scene.placement.placeOf(call, 1)], [0, 0]);
  scene.rooms.set(0, 0);
  assert.equal(scene.placement.placeOf(call), 1, 'and goes where there is some when that is over');
});

test('where a leg stands the call is, however full that process is', () => {
  const scene = new PlacementScene(5, 4);
  const call = scene.newCall();
  scene.bridgeComes(call, 1);
  scene.rooms.set(1, 0);
  assert.deepEqual([scene.placement.placeOf(call), scene.placement.placeOf(call, 0)], [1, 1]);
  assert.deepEqual(scene.placement.order(call), [1, 0]);
});

test('a process that is gone has none of its calls: they go to another one, and the others stay', () => {
  const scene = new PlacementScene(5, 4);
  const [lost, other] = [scene.newCall(), scene.newCall()];
  const leg = scene.bridgeComes(lost, 0);
  scene.bridgeComes(other, 1);
  scene.rooms.delete(0);
  scene.directory.disconnected(lost, 'bridge', leg);
  assert.deepEqual([scene.placement.placeOf(lost), scene.placement.placeOf(other)], [1, 1]);
  scene.rooms.delete(1);
  assert.equal(scene.placement.placeOf(lost), null);
});

test('a leg that comes first stays where it has come, if there is room', () => {
  const scene = new PlacementScene(9, 1);
  const [one, two] = [scene.newCall(), scene.newCall()];
  assert.equal(scene.placement.placeOf(one, 1), 1);
  assert.equal(scene.placement.placeOf(two, 1), 0);
});

test('calls that have come since a process told its load count until it tells it again', () => {
  const scene = new PlacementScene(3, 2);
  for (const _ of [1, 2]) scene.bridgeComes(scene.newCall(), 0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 1);
  scene.placement.loadTold(0);
  assert.equal(scene.placement.placeOf(scene.newCall()), 0);
});

test('a device whose bridge stands at another process is closed as moved, and finds it by coming again', () => {
  const scene = new PlacementScene(5, 5);
  const call = scene.newCall();
  const device = scene.deviceComes(call, 0);
  scene.bridgeComes(call, 1);
  assert.deepEqual(device.closes, ['moved']);
  assert.equal(scene.placement.placeOf(call, 0), 1);
  assert.deepEqual(scene.deviceComes(call, 1).closes, []);
  const late = scene.deviceComes(call, 0);
  assert.deepEqual(late.closes, ['moved'], 'also one that was admitted before its bridge came');
});

test('the end of a call forgets where it was to be', () => {
  const scene = new PlacementScene(2, 1);
  const call = scene.newCall();
  assert.equal(scene.placement.placeOf(call), 0);
  scene.directory.end(call, 'cancelled');
  assert.equal(scene.placement.placeOf(scene.newCall()), 0, 'nothing is expected there any more');
});
