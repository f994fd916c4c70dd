/**
 * Kills a core again and again under load while its edges hold the sleep connections. After every kill: no socket was closed,
 * no sleep session has ended, each device can be woken, acknowledged wakeups and delivered events are in the log, and sessions
 * of controllers end once, with their core. Source: scale-out.md, Edges.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer } from './api-client.ts';
import { EdgesSite } from './edges-site.ts';
import { checkLog, type PublishedEvent } from './event-log-check.ts';
import { readEvents } from './event-reader.ts';
import { hangMsMax } from './hang-limit.ts';
import { askPaced, type Asked } from './paced-requests.ts';
import { chanceFrom, type Chance } from './seeded-random.ts';
import { siteDevice } from './site-server.ts';
import type { Ending } from './temporary-store.ts';
import { TlsEdge } from './tls-edge.ts';
import { WokenModule } from './woken-module.ts';

export interface CoreCrashPlan {
  readonly kills: number;
  readonly edges: number;
  readonly fronts: number;
  readonly sessions: number;
  /** Sessions over TLS, at an edge that is linked like one on another machine. */
  readonly tls: number;
  /** Devices that also have a controller online: its session ends with each core, and it signs in again. */
  readonly controllers: number;
  /** Wakeups per second. */
  readonly wakeups: number;
  readonly queries: number;
  /** Lifetime of each core before it is killed. The supervisor delays the restart of one that dies sooner. */
  readonly lifeMs: number;
  readonly seed: number;
  readonly report?: (kill: CoreKill) => void;
}

export interface CoreKill {
  /** Time from the kill until a wakeup was answered 202. */
  readonly goodAfterMs: number;
  readonly accepted: number;
  readonly events: number;
}

export interface CoreCrashes {
  readonly kills: readonly CoreKill[];
  readonly wakeups: Asked;
  readonly queries: Asked;
}

const loginsAtOnce = 64;
const wakesAtOnce = 32;
const heartbeatMs = 10_000;
const probeMs = 10;
const pageMax = 1000;
/** An accepted wakeup is durable after this time. Source: running.md, Data. */
const durableAfterMs = 1000;

/** Rejects with the data that was lost. */
export async function runCoreCrashes(t: Ending, plan: CoreCrashPlan): Promise<CoreCrashes> {
  const crashed = await CrashedCore.open(t, plan);
  await crashed.sleep();
  const load = crashed.beginLoad();
  const kills: CoreKill[] = [];
  while (kills.length < plan.kills) {
    const kill = await crashed.kill();
    kills.push(kill);
    plan.report?.(kill);
  }
  const [wakeups, queries] = await load.end();
  await crashed.finish();
  return { kills, wakeups, queries };
}

class CrashedCore {
  readonly #plan: CoreCrashPlan;
  readonly #site: EdgesSite;
  readonly #chance: Chance;
  readonly #tls: TlsEdge | null;
  readonly #modules: WokenModule[] = [];
  readonly #closed: number[] = [];
  #controllers: readonly SignalController[] = [];
  #kills = 0;
  readonly #shown: PublishedEvent[] = [];
  #cursor: string | null = null;
  /** Request ids, with the time of each 202. */
  readonly #accepted: { readonly requestId: string; readonly atMs: number }[] = [];
  readonly #toldAccepted = new Set<string>();
  #counts = { accepted: 0, events: 0 };
  #wakeups = 0;
  #servedAtMs = performance.now();
  /** Replaced at every kill, and when wakeups succeed again. */
  #stage: { readonly isAway: boolean } = { isAway: false };

  private constructor(plan: CoreCrashPlan, site: EdgesSite, tls: TlsEdge | null) {
    this.#plan = plan;
    this.#site = site;
    this.#tls = tls;
    this.#chance = chanceFrom(plan.seed);
  }

  static async open(t: Ending, plan: CoreCrashPlan): Promise<CrashedCore> {
    const { edges, fronts, sessions: devices, tls } = plan;
    const edge = tls > 0 ? await TlsEdge.make(t) : null;
    const settings = [`api.fronts=${fronts}`, ...(edge?.coreSettings ?? [])];
    const site = await EdgesSite.open(t, { edges, devices, settings });
    await edge?.start();
    return new CrashedCore(plan, site, edge);
  }

  /** Logs in every device and waits until the log has the logins. */
  async sleep(): Promise<void> {
    const { sessions } = this.#plan;
    await atOnce(sessions, loginsAtOnce, async (device) => {
      const module = await this.#connect(device);
      this.#modules[device] = new WokenModule(module);
      void module.closed.then(() => this.#closed.push(device));
    });
    while (this.#shown.length < sessions) await this.#read(1);
    assert.deepEqual(
      this.#shown.filter(({ type, epoch }) => type !== 'device.sleep.login' || epoch !== 1),
      [],
    );
    await this.#signIn();
  }

  async #signIn(): Promise<void> {
    const numbers = Array.from({ length: this.#plan.controllers }, (_, device) => device);
    this.#controllers = await Promise.all(numbers.map((device) => this.#site.controller(device)));
  }

  beginLoad(): { end(): Promise<[Asked, Asked]> } {
    const { wakeups, queries, sessions } = this.#plan;
    let isOver = false;
    const heartbeats = setInterval(() => {
      for (const module of this.#modules) module.heartbeat();
    }, heartbeatMs);
    const device = (): number => this.#chance.below(sessions);
    const asked = Promise.all([
      askPaced(
        wakeups,
        () => isOver,
        () => this.#tolerate(() => this.#wake(device())),
      ),
      askPaced(
        queries,
        () => isOver,
        () => this.#tolerate(() => this.#query(device())),
      ),
    ]);
    return {
      end: async () => {
        isOver = true;
        clearInterval(heartbeats);
        return asked;
      },
    };
  }

  /** Kills the core under load. Resolves when everything has recovered. */
  async kill(): Promise<CoreKill> {
    const { sessions, lifeMs } = this.#plan;
    await wait(Math.max(0, this.#servedAtMs + lifeMs - performance.now()));
    await this.#read(0);
    await wait(1 + this.#chance.below(500));
    const { pid } = await this.#site.process('core');
    const killedAtMs = performance.now();
    this.#stage = { isAway: true };
    process.kill(pid, 'SIGKILL');
    this.#kills += 1;
    const durable = this.#accepted.splice(0).filter(({ atMs }) => atMs < killedAtMs - durableAfterMs);
    const shown = this.#shown.length;
    await this.#firstGood(killedAtMs);
    this.#servedAtMs = performance.now();
    const goodAfterMs = Math.round(this.#servedAtMs - killedAtMs);
    this.#stage = { isAway: false };
    await Promise.all(this.#controllers.map(({ closed }) => closed));
    await this.#signIn();
    await atOnce(sessions, wakesAtOnce, (device) => this.#wake(device));
    await this.#readAll();
    assert.deepEqual(this.#closed, [], 'sockets were closed');
    const lost = durable.filter(({ requestId }) => !this.#toldAccepted.delete(requestId));
    assert.deepEqual(lost, [], 'wakeups that were acknowledged are not in the log');
    const ended = this.#shown.slice(shown).filter(({ type }) => type.startsWith('device.sleep.'));
    assert.deepEqual(ended, [], 'sessions have ended, or begun');
    const counts = this.#counts;
    this.#counts = { accepted: 0, events: 0 };
    return { goodAfterMs, ...counts };
  }

  /**
   * Asserts that each session ends once, with the epoch and id of its login, and that the log begins with the events delivered
   * so far.
   */
  async finish(): Promise<void> {
    const { sessions, controllers } = this.#plan;
    await Promise.all([...this.#controllers, ...this.#modules].map((connection) => connection.close()));
    const isEnd = ({ type }: PublishedEvent): boolean => type.endsWith('.offline');
    const ends = sessions + controllers * (this.#kills + 1);
    const startedMs = performance.now();
    while (this.#shown.filter(isEnd).length < ends) {
      await this.#read(1);
      assert.ok(performance.now() - startedMs < hangMsMax, 'sessions that were closed do not end');
    }
    const shown = this.#shown.splice(0);
    this.#cursor = null;
    await this.#readAll();
    assert.deepEqual(
      this.#shown.slice(0, shown.length),
      shown,
      'an event that was shown is gone, or another',
    );
    const { sleep, signal } = checkLog(this.#shown).connections;
    assert.deepEqual([sleep.size, signal.size], [sessions, controllers]);
    for (const [device, { epoch, nodeLost }] of sleep) assert.deepEqual([epoch, nodeLost], [1, 0], device);
    for (const [device, { epoch, nodeLost }] of signal)
      assert.deepEqual([epoch, nodeLost], [this.#kills + 1, this.#kills], device);
    assert.equal(await this.#site.stop(), 0, this.#site.server.command.stderr);
  }

  #connect(device: number): Promise<SleepingModule> {
    const tls = device < this.#plan.tls ? this.#tls : null;
    return tls?.module(device) ?? this.#site.module(device);
  }

  async #firstGood(killedAtMs: number): Promise<void> {
    const { sessions } = this.#plan;
    for (;;) {
      const isGood = await this.#wake(this.#chance.below(sessions)).then(
        () => true,
        () => false,
      );
      if (isGood) return;
      assert.ok(performance.now() - killedAtMs < hangMsMax, 'no wakeup is good after the kill');
      await wait(probeMs);
    }
  }

  /** Wakes a device and awaits its packet. Rejects unless the answer is 202. */
  async #wake(device: number): Promise<void> {
    this.#wakeups += 1;
    const stage = this.#stage;
    const requestId = `core-${this.#wakeups}`;
    const customData = (this.#wakeups % 0x1_0000).toString(16).padStart(4, '0');
    const body = { device_id: siteDevice(device), custom_data: `0x${customData}`, number: this.#wakeups };
    const answer = await this.#site.api.wake(body, { spoil: { 'X-Request-ID': requestId } });
    assert.equal(answer.status, 202, answer.text);
    // The answer may come from a core that was killed meanwhile; its time is then unreliable.
    if (stage === this.#stage) this.#accepted.push({ requestId, atMs: performance.now() });
    this.#counts.accepted += 1;
    await this.#modules[device]?.arrived(customData);
  }

  async #query(device: number): Promise<void> {
    const answer = await this.#site.api.connectivity(siteDevice(device));
    assert.deepEqual([answer.status, answer.json.code], [200, 0], answer.text);
    assert.ok(isAsleep(answer), answer.text);
  }

  /** Ignores a failed request if the core was down at its beginning or died before its end. */
  async #tolerate(act: () => Promise<void>): Promise<void> {
    const stage = this.#stage;
    try {
      await act();
    } catch (error) {
      if (!stage.isAway && stage === this.#stage) throw error;
    }
  }

  async #read(waitS: number): Promise<number> {
    const { events, next } = await readEvents(this.#site.api, this.#cursor, pageMax, waitS);
    this.#cursor = next;
    this.#counts.events += events.length;
    for (const event of events) {
      this.#shown.push(event);
      if (event.type === 'device.wakeup.accepted') this.#toldAccepted.add(String(event.data['request_id']));
    }
    return events.length;
  }

  async #readAll(): Promise<void> {
    while ((await this.#read(0)) > 0);
  }
}

/** True: the session has not ended since its only login. */
function isAsleep({ json }: ApiAnswer): boolean {
  const { sleep } = json.data as { sleep: { last_login_at: number | null; last_offline_at: number | null } };
  return sleep.last_login_at !== null && sleep.last_offline_at === null;
}

/** Calls `act` for 0 to `count` - 1, with this many calls pending. */
async function atOnce(
  count: number,
  underWayMax: number,
  act: (number: number) => Promise<void>,
): Promise<void> {
  const left = Array.from({ length: count }, (_, number) => number).values();
  await Promise.all(
    Array.from({ length: underWayMax }, async () => {
      for (const number of left) await act(number);
    }),
  );
}
