/**
 * Random walks over calls whose links are cut and whose cores are killed, sometimes with loss of commits: legs connect, report
 * and disconnect at any moment. A core that has received everything has exactly the open legs, no leg receives a message twice,
 * a call is over if one of its legs has reported the end, and each end is recorded once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { CallReport } from '../../src/model/call.ts';
import type { OpenBridgeLeg, OpenDeviceLeg } from '../../src/core/ports/leg-service.ts';
import { legWords, orderForRoom, progress } from '../support/call-scene.ts';
import { KeptLegsScene } from '../support/kept-legs-scene.ts';
import type { Opened } from '../support/leg-service-scene.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['WALK_SEED'] ?? 34);
const walks = 40;
const steps = 60;
const callsMax = 4;

interface Peer {
  readonly side: 'device' | 'bridge';
  readonly call: WalkedCall;
  readonly opened: Opened<OpenDeviceLeg | OpenBridgeLeg>;
}

interface WalkedCall {
  readonly sessionId: SessionId;
  readonly token: string;
  hasEnded: boolean;
}

const reports: readonly CallReport[] = [
  progress('ringing'),
  progress('attempting'),
  progress('connected'),
  { kind: 'end', reason: 'hangup_device' },
];

class Walk {
  readonly #chance: Chance;
  readonly #scene: KeptLegsScene;
  readonly #calls: WalkedCall[] = [];
  #peers: Peer[] = [];
  #isLinked = true;

  constructor(chance: Chance, scene: KeptLegsScene) {
    this.#chance = chance;
    this.#scene = scene;
  }

  async run(): Promise<void> {
    for (let number = 0; number < callsMax; number += 1) {
      const { deviceId } = this.#scene.registry.addDevice({ deviceId: `D${number}` as DeviceId });
      const { call, token } = await this.#scene.newCall(orderForRoom(`room-${number}`, { deviceId }));
      this.#calls.push({ sessionId: call, token, hasEnded: false });
    }
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      if (this.#isLinked) this.#check();
    }
    if (!this.#isLinked) await this.#scene.link();
    this.#check();
  }

  async #step(): Promise<void> {
    const dice = this.#chance.below(10);
    if (dice < 3 && this.#isLinked) await this.#openLeg();
    else if (dice < 6) await this.#speak();
    else if (dice < 7) await this.#leave();
    else if (dice < 8 && this.#isLinked) await this.#cut();
    else if (!this.#isLinked) await this.#link();
  }

  async #openLeg(): Promise<void> {
    const call = this.#pick(this.#calls.filter(({ hasEnded }) => !hasEnded));
    if (call === null) return;
    const side = this.#chance.below(2) === 0 ? 'device' : 'bridge';
    const opened =
      side === 'device' ? await this.#scene.device(call.token) : await this.#scene.bridge(call.sessionId);
    this.#peers.push({ side, call, opened });
  }

  async #speak(): Promise<void> {
    const peer = this.#pick(this.#open());
    const report = reports[this.#chance.below(reports.length)];
    if (peer === null || report === undefined) return;
    // Ends are rarer, since a walk needs calls.
    if (report.kind === 'end' && this.#chance.below(3) > 0) return;
    peer.opened.open.report(report);
    if (report.kind === 'end') peer.call.hasEnded = true;
    await this.#scene.untilIdle();
  }

  async #leave(): Promise<void> {
    const peer = this.#pick(this.#open());
    if (peer === null) return;
    peer.opened.open.disconnected();
    this.#peers = this.#peers.filter((other) => other !== peer);
    await this.#scene.untilIdle();
  }

  /** Half of the cuts are kills; half of these lose the latest changes. */
  async #cut(): Promise<void> {
    this.#isLinked = false;
    if (this.#chance.below(2) === 0) return this.#scene.cut();
    const commit = this.#scene.commit();
    if (this.#chance.below(2) === 0) await this.#speak();
    await this.#scene.kill(commit);
  }

  async #link(): Promise<void> {
    await this.#scene.link();
    this.#isLinked = true;
  }

  #open(): Peer[] {
    return this.#peers.filter(({ opened }) => opened.leg.closes.length === 0);
  }

  #check(): void {
    const { directory } = this.#scene;
    for (const call of this.#calls) {
      const { sessionId } = call;
      const open = this.#open().filter((peer) => peer.call === call);
      for (const side of ['device', 'bridge'] as const) {
        const count = open.filter((peer) => peer.side === side).length;
        const isThere = side === 'device' ? directory.hasDevice(sessionId) : directory.hasBridge(sessionId);
        assert.equal(count, isThere ? 1 : 0, `${side} legs that are open`);
      }
      const events = this.#scene.callEvents(sessionId);
      assert.equal(directory.find(sessionId) === null, call.hasEnded);
      assert.equal(events.filter((event) => event.startsWith('ended')).length, call.hasEnded ? 1 : 0);
      assert.equal(new Set(events).size, events.length, events.join());
    }
    for (const { opened } of this.#peers) {
      const words = legWords(opened.leg);
      assert.equal(new Set(words).size, words.length, words.join());
    }
  }

  #pick<Item>(items: readonly Item[]): Item | null {
    return items[this.#chance.below(Math.max(1, items.length))] ?? null;
  }
}

test('legs and calls agree after every new link', async () => {
  const chance = chanceFrom(seed);
  for (let walk = 0; walk < walks; walk += 1) {
    const scene = await KeptLegsScene.open();
    await new Walk(chance, scene)
      .run()
      .catch((error: unknown) => assert.fail(`seed ${seed}, walk ${walk}: ${String(error)}`));
  }
});
