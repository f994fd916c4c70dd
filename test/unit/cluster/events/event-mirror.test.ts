import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { EventMirror } from '../../../../src/cluster/events/event-mirror.ts';
import { encodeSharedEvent } from '../../../../src/protocol/cluster/stored-values.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { EventId, SessionId } from '../../../../src/model/ids.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, testDevice } from '../../../support/fakes.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly stream = new MemoryStream(this.clock);
  readonly events: LoggedEvent[] = [];
  readonly batches: number[] = [];
  readonly saw: number[] = [];
  failure: Error | null = null;
  /** Batches of which the mirror was told that there is something missing before them. */
  breaks = 0;
  head = 0;
  readonly mirror: EventMirror;

  constructor() {
    const headOf = (): number => this.head;
    const mirror = {
      get head() {
        return headOf();
      },
      append: (events: readonly LoggedEvent[], isUnbroken?: boolean) => this.#append(events, isUnbroken),
    };
    const { stream: source, clock, log } = this;
    const saw = ({ sequence }: LoggedEvent): void => void this.saw.push(sequence);
    this.mirror = new EventMirror({ source, mirror, clock, log, saw });
  }

  async #append(events: readonly LoggedEvent[], isUnbroken = false): Promise<void> {
    await setImmediate();
    this.breaks += isUnbroken ? 0 : 1;
    if (this.failure !== null) throw this.failure;
    this.batches.push(events.length);
    this.events.push(...events);
    this.head = events.at(-1)?.sequence ?? this.head;
  }

  happen(count = 1): void {
    for (let i = 0; i < count; i++) {
      const seq = this.stream.stored.length + 1;
      const data = { session: 'session' as SessionId, node: 'a', replaced: false };
      const draft = { type: 'device.sleep.login', data, deviceId: testDevice, atMs: 1, epoch: 1 } as const;
      this.stream.add(encodeSharedEvent({ id: `e${seq}` as EventId, seq, draft, productId: null }));
    }
  }

  get sequences(): number[] {
    return this.events.map(({ sequence }) => sequence);
  }

  async quiet(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  }
}

test('events are mirrored under the sequences of the stream, those of one moment together', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.happen(3);
  scene.mirror.start();
  await scene.quiet();
  scene.happen(2);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [1, 2, 3, 4, 5]);
  assert.deepEqual(scene.batches, [3, 2]);
  assert.deepEqual(scene.saw, [1, 2, 3, 4, 5]);
  assert.deepEqual(scene.events[3], {
    type: 'device.sleep.login',
    data: { session: 'session', node: 'a', replaced: false },
    deviceId: testDevice,
    atMs: 1,
    epoch: 1,
    id: 'e4',
    sequence: 4,
    seq: 4,
    productId: null,
  });
  assert.equal(scene.mirror.lag, 0);
});

test('a mirror begins behind what it has, and after an outage where it had come to', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.happen(5);
  scene.head = 2;
  scene.mirror.start();
  await scene.quiet();
  scene.stream.isUnavailable = true;
  scene.stream.cut();
  scene.happen(1);
  await scene.quiet();
  scene.clock.advance(5000);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [3, 4, 5]);
  scene.stream.isUnavailable = false;
  scene.clock.advance(500);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [3, 4, 5, 6]);
  assert.deepEqual(scene.stream.opened, [2, 5]);
  assert.deepEqual(
    scene.log.lines.map(({ level }) => level),
    ['warn', 'info'],
    'the outage is told of once, and its end',
  );
});

test('a store that refuses is given the same events again', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.failure = new Error('disk full');
  scene.happen(3);
  scene.mirror.start();
  await scene.quiet();
  assert.deepEqual(scene.sequences, []);
  assert.deepEqual(scene.saw, []);
  scene.failure = null;
  scene.clock.advance(500);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [1, 2, 3]);
});

test('what is no event is logged once, and leaves its sequence empty', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.happen(1);
  scene.stream.add(Buffer.from('rubbish'));
  scene.mirror.start();
  await scene.quiet();
  assert.equal(scene.mirror.lag, 0);
  scene.happen(1);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [1, 3]);
  assert.equal(scene.breaks, 0, 'nothing is missing there');
  scene.stream.cut();
  await scene.quiet();
  scene.clock.advance(500);
  await scene.quiet();
  const told = scene.log.lines.filter(({ message }) => /no event/.test(message));
  assert.equal(told.length, 1, 'it is not looked at again');
});

test('a mirror whose next events have left the stream is told that they are missing', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.happen(5);
  scene.stream.stored.splice(0, 3);
  scene.mirror.start();
  await scene.quiet();
  assert.deepEqual(scene.sequences, [4, 5]);
  assert.equal(scene.breaks, 1);
});

test('a stream that was made anew goes on behind the newest event that is here', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.head = 40;
  scene.happen(1);
  scene.mirror.start();
  await scene.quiet();
  scene.clock.advance(500);
  await scene.quiet();
  scene.happen(1);
  await scene.quiet();
  assert.deepEqual(scene.sequences, [41]);
  assert.match(scene.log.lines[0]?.message ?? '', /made anew/);
});

test('messages that are said to come and do not are asked after, and are no lag then', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.happen(2);
  scene.mirror.start();
  await scene.quiet();
  scene.stream.miscounts = 2;
  scene.happen(1);
  await scene.quiet();
  assert.equal(scene.mirror.lag, 2);
  scene.stream.isUnavailable = true;
  scene.clock.advance(500);
  await scene.quiet();
  assert.equal(scene.mirror.lag, 2, 'it is not known to be wrong');
  scene.stream.isUnavailable = false;
  scene.clock.advance(500);
  await scene.quiet();
  assert.equal(scene.mirror.lag, 0);
  assert.deepEqual(scene.sequences, [1, 2, 3]);
});

test('messages that wait in the stream are lag until they come', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.mirror.start();
  await scene.quiet();
  scene.stream.miscounts = 1;
  scene.happen(1);
  scene.stream.isHeld = true;
  scene.happen(1);
  await scene.quiet();
  scene.clock.advance(2000);
  await scene.quiet();
  assert.equal(scene.mirror.lag, 1);
  assert.deepEqual(scene.sequences, [1]);
});
