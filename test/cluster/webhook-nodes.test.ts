/** Webhooks of a cluster while its nodes die in turn, with real processes and a receiver that verifies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ClusterSite, type SiteNode } from '../support/cluster-site.ts';
import type { PublishedEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import { startNats } from '../support/nats-server.ts';
import { siteAppId, siteDevice } from '../support/site-server.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { receiverSecret, WebhookReceiver } from '../support/webhook-receiver.ts';

const eventsMin = 1000;
const devices = 50;

test('1 000 events while nodes die in turn: each delivered at least once, first attempts in order per device', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const site = await ClusterSite.start(t, {
    nats: [await startNats(t)],
    nodes: ['a', 'b', 'c'],
    devices,
    webhooks: [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }],
    overrides: ['webhooks.allow_local=true'],
  });
  const load = new Comings(site.nodes);
  for (const victim of site.nodes) {
    await load.happened(eventsMin / site.nodes.length / 2);
    load.without(victim);
    await victim.kill();
    await load.happened(eventsMin / site.nodes.length / 2);
    await victim.start();
    load.with(victim);
  }
  await load.end();
  const log = await settledLog(site.node(0));
  assert.ok(log.length >= eventsMin, `only ${log.length} events happened`);
  await delivered(receiver, log);
  const firsts = new Map<string, number>();
  const seen = new Set<unknown>();
  for (const { event } of receiver.received) {
    assert.ok(event !== null, 'every delivery is signed');
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    const deviceId = String(event.device_id);
    const seq = Number(event.seq);
    assert.ok(
      seq > (firsts.get(deviceId) ?? 0),
      `${deviceId}: seq ${seq} came first behind ${firsts.get(deviceId)}`,
    );
    firsts.set(deviceId, seq);
  }
  t.diagnostic(`${log.length} events, ${receiver.received.length - seen.size} of them delivered again`);
});

/** Devices whose controllers come and go at whichever nodes live. */
class Comings {
  #nodes: readonly SiteNode[];
  #isOver = false;
  #count = 0;
  readonly #playing: Promise<void>[];

  constructor(nodes: readonly SiteNode[]) {
    this.#nodes = nodes;
    this.#playing = Array.from({ length: devices }, (_, number) => this.#play(number));
  }

  without(node: SiteNode): void {
    this.#nodes = this.#nodes.filter((other) => other !== node);
  }

  with(node: SiteNode): void {
    this.#nodes = [...this.#nodes, node];
  }

  async happened(count: number): Promise<void> {
    for (const goal = this.#count + count; this.#count < goal;) await wait(10);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#playing);
  }

  async #play(number: number): Promise<void> {
    for (let turn = number; !this.#isOver; turn++) {
      const node = this.#nodes[turn % this.#nodes.length];
      assert.ok(node !== undefined, 'some node lives');
      try {
        const controller = await node.controller(siteDevice(number));
        this.#count += 1;
        if (turn % 3 === 0) {
          await controller.close();
          this.#count += 1;
        }
      } catch {
        await wait(50);
      }
    }
  }
}

/** The whole log, once nothing more comes: the ends of those that a dead node had come with its failover. */
async function settledLog(node: SiteNode): Promise<PublishedEvent[]> {
  const reader = new EventReader(node.api);
  const log = await reader.rest();
  for (let quietMs = 0; quietMs < 3000; quietMs += 250) {
    await wait(250);
    const more = await reader.rest();
    if (more.length > 0) quietMs = 0;
    log.push(...more);
  }
  return log;
}

async function delivered(receiver: WebhookReceiver, log: readonly PublishedEvent[]): Promise<void> {
  const endMs = performance.now() + hangMsMax;
  for (;;) {
    const ids = new Set(receiver.received.map(({ event }) => event?.id));
    const missing = log.filter(({ id }) => !ids.has(id));
    if (missing.length === 0) return;
    assert.ok(
      performance.now() < endMs,
      `${missing.length} events were not delivered, ${missing[0]?.id} first`,
    );
    await wait(100);
  }
}
