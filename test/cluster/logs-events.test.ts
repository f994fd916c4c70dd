/** The event log of several nodes on a real nats-server: publishing, numbering, mirroring, outages. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { StreamedDeviceEvents } from '../../src/cluster/events/device-events.ts';
import { EventMirror } from '../../src/cluster/events/event-mirror.ts';
import { EventStream } from '../../src/cluster/events/event-stream.ts';
import { JetStreamSource } from '../../src/cluster/events/jetstream-source.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import type { LoggedEvent } from '../../src/model/events.ts';
import { generateEventId, type DeviceId, type SessionId } from '../../src/model/ids.ts';
import type { OutboxEvent } from '../../src/core/ports/outbox.ts';
import { startNats } from '../support/nats-server.ts';
import { linkIs, linkTo, WatchedLog } from '../support/nats-scene.ts';
import type { Ending } from '../support/temporary-store.ts';

let made = 0;

function eventOf(deviceId: string): OutboxEvent {
  const atMs = Date.now();
  const session = `session-${(made += 1)}` as SessionId;
  const draft = {
    type: 'device.sleep.login',
    data: { session, node: 'node', replaced: false },
    deviceId: deviceId as DeviceId,
    atMs,
    epoch: 1,
  } as const;
  return { id: generateEventId(atMs, made), draft, productId: null };
}

/** A node as far as its events go: its log is in memory. */
class Node {
  readonly events: LoggedEvent[] = [];
  readonly link: NatsLink;
  readonly stream: EventStream;
  readonly mirror: EventMirror;
  readonly log = new WatchedLog();
  readonly #news = new EventEmitter();

  static async start(t: Ending, url: string, head = 0): Promise<Node> {
    const link = await linkTo(t, url);
    await link.ready();
    const node = new Node(link, head);
    t.after(() => node.mirror.stop());
    node.mirror.start();
    return node;
  }

  private constructor(link: NatsLink, first: number) {
    const { events, log } = this;
    const clock = new SystemClock();
    const headOf = (): number => events.at(-1)?.sequence ?? first;
    this.link = link;
    this.stream = new EventStream({
      clock,
      events: new StreamedDeviceEvents(link),
      seqOf: (deviceId) => events.findLast((event) => event.deviceId === deviceId)?.seq ?? 0,
      recentOf: (deviceId) => events.filter((event) => event.deviceId === deviceId).reverse(),
    });
    this.mirror = new EventMirror({
      source: new JetStreamSource(link, link.names.eventStream),
      mirror: {
        get head() {
          return headOf();
        },
        append: async (more) => {
          events.push(...more);
          this.#news.emit('events');
        },
      },
      clock,
      log,
      saw: (event) => this.stream.saw(event),
    });
  }

  /** Resolves when so many events are mirrored. */
  async has(count: number): Promise<void> {
    while (this.events.length < count) await once(this.#news, 'events');
  }

  /** As the pump does: until it is published. */
  async notify(event: OutboxEvent): Promise<void> {
    for (;;) {
      await linkIs(this.link, 'there');
      try {
        return await this.stream.publish(event);
      } catch {
        // NATS is unavailable, or is not whole yet.
      }
    }
  }
}

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

test('two nodes that write of the same devices at once leave no gap and no repeat, and mirror the same log', async (t) => {
  const { url } = await startNats(t);
  const nodes = await Promise.all([Node.start(t, url), Node.start(t, url)]);
  const devices = ['device-1', 'device-2', 'device-3'];
  await Promise.all(
    nodes.flatMap((node) =>
      devices.map(async (device) => {
        for (let i = 0; i < 50; i++) await node.notify(eventOf(device));
      }),
    ),
  );
  await Promise.all(nodes.map((node) => node.has(300)));
  const [one, other] = nodes;
  assert.deepEqual(one?.events, other?.events);
  assert.deepEqual(
    one?.events.map(({ sequence }) => sequence),
    range(300),
  );
  for (const device of devices)
    assert.deepEqual(
      one?.events.filter(({ deviceId }) => deviceId === device).map(({ seq }) => seq),
      range(100),
    );
});

test('an event that is older than the duplicate window is found behind others, by a node whose mirror is empty', async (t) => {
  const { url } = await startNats(t);
  const first = await Node.start(t, url);
  const event = eventOf('device');
  const old: OutboxEvent = { ...event, draft: { ...event.draft, atMs: event.draft.atMs - 3_600_000 } };
  await first.stream.publish(old);
  for (let i = 0; i < 3; i++) await first.stream.publish(eventOf('device'));
  const events = new StreamedDeviceEvents(first.link);
  // One without a mirror: only the stream knows.
  const stream = new EventStream({ clock: new SystemClock(), events, seqOf: () => 0, recentOf: () => [] });
  await stream.publish(old);
  await stream.publish(eventOf('device'));
  await first.has(5);
  assert.deepEqual(
    first.events.map(({ seq }) => seq),
    range(5),
  );
});

test('a NATS without a memory goes on behind the newest event that a node has', async (t) => {
  const { url } = await startNats(t);
  const node = await Node.start(t, url, 5000);
  await node.log.logged(/made anew/);
  while (node.events.length === 0) {
    await node.stream.publish(eventOf('device'));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  assert.ok((node.events[0]?.sequence ?? 0) > 5000);
});
