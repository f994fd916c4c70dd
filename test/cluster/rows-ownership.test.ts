import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import { startNats } from '../support/nats-server.ts';
import { linkIs, linkTo } from '../support/nats-scene.ts';
import { FakeOutbox, OwningNode, SharedLog } from '../support/ownership-scene.ts';
import type { Ending } from '../support/temporary-store.ts';

const clock = new SystemClock();

interface Started {
  readonly node: OwningNode;
  readonly link: NatsLink;
}

/** Nodes over a real NATS; the log of events and the notices between them are in memory. */
class Site {
  readonly log = new SharedLog();
  readonly #news = new EventEmitter().setMaxListeners(0);
  readonly #nodes: OwningNode[] = [];
  readonly #t: Ending;

  constructor(t: Ending) {
    this.#t = t;
    this.log.follow(() => this.#news.emit('event'));
  }

  async start(name: string, url: string): Promise<Started> {
    const link = await linkTo(this.#t, url);
    await link.ready();
    const node = new OwningNode(name, 1, new FakeOutbox(), {
      clock,
      link,
      rows: new NatsKvStore(link, 'rows', clock),
      heartbeats: new NatsKvStore(link, 'heartbeats', clock),
      publish: (event) => Promise.resolve(this.log.append(event)),
      supersede: (member, deviceId, session) => {
        this.#nodes.find((other) => other.member === member)?.superseded(deviceId, session);
        this.#news.emit('event');
      },
    });
    this.#nodes.push(node);
    node.ownership.start();
    this.#t.after(() => node.ownership.stop(0));
    return { node, link };
  }

  /** Resolves when the log says so many words. */
  async told(length: number): Promise<void> {
    while (this.log.events.length < length) await once(this.#news, 'event');
  }
}

const failoversMax = 5;

/** As members do: one that loses NATS in the midst of it begins anew when that is back. */
async function failOver({ node, link }: Started, member: MemberId): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      await linkIs(link, 'there');
      return await node.ownership.failOver(member);
    } catch (error) {
      if (tries === failoversMax) throw error;
    }
}

function devices(count: number): DeviceId[] {
  return Array.from({ length: count }, (_, index) => `DEVICE-${index}` as DeviceId);
}

test('5 000 sessions of a lost member are closed once, though two fail it over', async (t) => {
  const { url } = await startNats(t);
  const site = new Site(t);
  const { node: lost } = await site.start('A', url);
  const survivor = await site.start('B', url);
  const other = await site.start('C', url);
  const all = devices(5000);
  for (const [index, deviceId] of all.entries()) lost.login(deviceId, 'sleep', `s${index}`);
  await site.told(all.length);
  const startedMs = clock.monotonicMs();
  await Promise.all([failOver(survivor, lost.member), failOver(other, lost.member)]);
  const tookMs = clock.monotonicMs() - startedMs;
  t.diagnostic(`failed over ${all.length} in ${Math.round(tookMs)} ms`);
  const ends = site.log.words.slice(all.length);
  assert.deepEqual(
    ends,
    all.map(() => 'device.sleep.offline 1 A node_lost'),
  );
});

test('4 000 live sessions that were called lost are back with the first look, and the second finds them', async (t) => {
  const { url } = await startNats(t);
  const site = new Site(t);
  const { node: returning } = await site.start('A', url);
  const survivor = await site.start('B', url);
  const all = devices(4_000);
  for (const [index, deviceId] of all.entries()) returning.login(deviceId, 'sleep', `s${index}`);
  await site.told(all.length);
  await failOver(survivor, returning.member);
  const failedOver = site.log.events.length;
  assert.equal(failedOver, 2 * all.length);
  await returning.ownership.reregister();
  const startedMs = clock.monotonicMs();
  await returning.ownership.reregister();
  const tookMs = clock.monotonicMs() - startedMs;
  t.diagnostic(`looked up ${all.length} in ${Math.round(tookMs)} ms`);
  assert.equal(site.log.words.at(-1)?.endsWith('recovered'), true);
  assert.equal(site.log.events.length, failedOver + all.length);
});
