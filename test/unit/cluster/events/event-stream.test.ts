import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { EventStream } from '../../../../src/cluster/events/event-stream.ts';
import type { DeviceId, EventId, SessionId } from '../../../../src/model/ids.ts';
import type { OutboxEvent } from '../../../../src/core/ports/outbox.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { testDevice } from '../../../support/fakes.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';

const windowMs = 120_000;

class Scene {
  readonly clock = new DrivenClock();
  readonly stream = new MemoryStream(this.clock);
  /** What a node's mirror would say; by default it has seen nothing. */
  seq = 0;
  mirrored: { id: EventId; sequence: number }[] = [];

  node(): EventStream {
    return new EventStream({
      clock: this.clock,
      events: this.stream,
      seqOf: () => this.seq,
      recentOf: () => this.mirrored,
      random: () => 0,
    });
  }

  event(id: string, deviceId: DeviceId = testDevice): OutboxEvent {
    const data = { session: 'session' as SessionId, node: 'a', replaced: false };
    const draft = {
      type: 'device.sleep.login',
      data,
      deviceId,
      atMs: this.clock.wallMs(),
      epoch: 1,
    } as const;
    return { id: id as EventId, draft, productId: null };
  }

  /** The stream no longer knows events by their ids alone. */
  passWindow(): void {
    this.clock.advance(windowMs);
    this.stream.window.clear();
  }

  get told(): string[] {
    return this.stream.events.map(({ id, seq }) => `${id} ${seq}`);
  }
}

test('the events of a device are numbered from 1 without asking more than once', async () => {
  const scene = new Scene();
  const node = scene.node();
  for (const id of ['e1', 'e2', 'e3']) await node.publish(scene.event(id));
  assert.deepEqual(scene.told, ['e1 1', 'e2 2', 'e3 3']);
  assert.equal(scene.stream.asked, 1);
});

test('two nodes that write of one device in turns leave no gap and no repeat', async () => {
  const scene = new Scene();
  const [one, other] = [scene.node(), scene.node()];
  for (let i = 1; i <= 4; i++) {
    const published = (i % 2 === 0 ? one : other).publish(scene.event(`e${i}`));
    await untilSettled(published, scene.clock);
  }
  assert.deepEqual(scene.told, ['e1 1', 'e2 2', 'e3 3', 'e4 4']);
});

test('what the mirror has seen of a device need not be asked for', async () => {
  const scene = new Scene();
  const [one, other] = [scene.node(), scene.node()];
  await one.publish(scene.event('e1'));
  const [{ sequence } = { sequence: 0 }] = scene.stream.stored;
  other.saw({ ...scene.event('e1').draft, id: 'e1' as EventId, sequence, seq: 1, productId: null });
  const asked = scene.stream.asked;
  await other.publish(scene.event('e2'));
  assert.deepEqual(scene.told, ['e1 1', 'e2 2']);
  assert.equal(scene.stream.asked, asked);
});

test('an event whose acknowledgement was lost is told again and is in the log once', async () => {
  const scene = new Scene();
  const node = scene.node();
  await node.publish(scene.event('e1'));
  scene.stream.losesAck = true;
  const event = scene.event('e2');
  await assert.rejects(node.publish(event), { name: 'SharedStateUnavailable' });
  await node.publish(event);
  await node.publish(scene.event('e3'));
  assert.deepEqual(scene.told, ['e1 1', 'e2 2', 'e3 3']);
});

test('after a crash and the duplicate window an event that is the last of its device is known by its id', async () => {
  const scene = new Scene();
  const event = scene.event('e1');
  await scene.node().publish(event);
  scene.passWindow();
  await scene.node().publish(event);
  assert.deepEqual(scene.told, ['e1 1']);
});

test('after a crash and the duplicate window one that others have written behind is found in the mirror', async () => {
  const scene = new Scene();
  const event = scene.event('e1');
  await scene.node().publish(event);
  await scene.node().publish(scene.event('e2'));
  scene.passWindow();
  scene.mirrored = scene.stream.stored.map(({ sequence, event }) => ({ id: event?.id as EventId, sequence }));
  await scene.node().publish(event);
  assert.deepEqual(scene.told, ['e1 1', 'e2 2']);
});

test('and in the stream, where the mirror is behind', async () => {
  const scene = new Scene();
  const event = scene.event('e2');
  await scene.node().publish(scene.event('e1'));
  await scene.node().publish(event);
  await scene.node().publish(scene.event('e3'));
  scene.passWindow();
  scene.mirrored = [{ id: 'e1' as EventId, sequence: 1 }];
  await scene.node().publish(event);
  assert.deepEqual(scene.told, ['e1 1', 'e2 2', 'e3 3']);
});

test('what the mirror has seen hides no event that was told before', async () => {
  const scene = new Scene();
  const event = scene.event('e1');
  await scene.node().publish(event);
  scene.passWindow();
  const node = scene.node();
  node.saw({ ...event.draft, id: event.id, sequence: 1, seq: 1, productId: null });
  await node.publish(event);
  assert.deepEqual(scene.told, ['e1 1']);
});

test('a device whose events have left the stream goes on from what the mirror knows of it', async () => {
  const scene = new Scene();
  scene.seq = 41;
  await scene.node().publish(scene.event('e42'));
  assert.deepEqual(scene.told, ['e42 42']);
});

test('while NATS is away an event is refused, and can be told when it is back', async () => {
  const scene = new Scene();
  const node = scene.node();
  const event = scene.event('e1');
  scene.stream.isUnavailable = true;
  await assert.rejects(node.publish(event), { name: 'SharedStateUnavailable' });
  scene.stream.isUnavailable = false;
  await node.publish(event);
  assert.deepEqual(scene.told, ['e1 1']);
});

test('a device that others always write of first is given up after some tries', async () => {
  const scene = new Scene();
  const node = scene.node();
  scene.stream.put = async () => ({ kind: 'conflict' });
  await assert.rejects(untilSettled(node.publish(scene.event('e1')), scene.clock), /first to write/);
});

/** Lets pauses pass until it is done. */
async function untilSettled(published: Promise<void>, clock: DrivenClock): Promise<void> {
  const passing = new AbortController();
  const settled = published.finally(() => passing.abort());
  settled.catch(() => undefined);
  while (!passing.signal.aborted) {
    clock.advance(20);
    await setImmediate();
  }
  await settled;
}
