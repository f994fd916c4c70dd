/**
 * A server that is killed again and again under load, on the same data. After every start: what anybody was told
 * before is still true, the log has no gap, and what the crash left open has ended once.
 * Source: decisions.md, Durable and Connectivity; events.md, The log; running.md, Data.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from './api-client.ts';
import { LongCommand } from './cli-process.ts';
import { CrashLoad, emptyMemory, readEvents, type Heard, type Memory } from './crash-load.ts';
import { checkLog, type ConnectionKind, type ToldEvent, type ToldLog } from './event-log-check.ts';
import { chanceFrom, type Chance } from './seeded-random.ts';
import { serveArguments, startServerProcess, type ServerProcess } from './server-process.ts';
import { siteCredential, siteDevice, siteRegistry } from './site-server.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

const deviceIds = Array.from({ length: 36 }, (_, i) => siteDevice(i));
/** What happened this long before a kill is in the store, whoever waited for it. Source: running.md, Data. */
const durableAfterMs = 1000;
const kinds = ['sleep', 'signal'] as const;

export interface CrashTotals {
  rounds: number;
  killsAtStart: number;
  events: number;
  shown: number;
  welcomes: number;
  nodeLost: number;
  /** Answered 202 long enough before the kill that they had to be there. */
  durableWakeups: number;
}

export interface CrashPlan {
  readonly rounds: number;
  readonly seed: number;
  /** Called after every round. */
  readonly report?: (totals: CrashTotals) => void;
}

export async function runCrashRounds(t: Ending, { rounds, seed, report }: CrashPlan): Promise<CrashTotals> {
  const crashes = new Crashes(t, chanceFrom(seed));
  for (let round = 0; round < rounds; round++) {
    await crashes.round();
    report?.(crashes.totals);
  }
  await crashes.finish();
  return crashes.totals;
}

class Crashes {
  readonly totals: CrashTotals = {
    rounds: 0,
    killsAtStart: 0,
    events: 0,
    shown: 0,
    welcomes: 0,
    nodeLost: 0,
    durableWakeups: 0,
  };
  readonly #ending: Ending;
  readonly #chance: Chance;
  readonly #memory: Memory = emptyMemory();
  readonly #overrides: readonly string[];
  /** What had to be committed when its server was killed. */
  readonly #durable: { readonly sleepLogins: string[]; readonly accepted: string[] } = {
    sleepLogins: [],
    accepted: [],
  };

  constructor(t: Ending, chance: Chance) {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'registry.json');
    writeFileSync(file, JSON.stringify(siteRegistry({ devices: deviceIds.length })));
    this.#ending = t;
    this.#chance = chance;
    this.#overrides = [
      `data.dir=${join(directory, 'data')}`,
      `registry.file=${file}`,
      'wakeup.device_per_second=100000',
      'wakeup.application_per_second=100000',
      'limits.device_logins_per_second=10000',
    ];
  }

  /** A start, a look at everything, load, and a kill in its midst. */
  async round(): Promise<void> {
    if (this.#chance.below(4) === 0) await this.#killWhileStarting();
    const { server, api } = await this.#startAndCheck();
    const { ports } = server;
    const load = new CrashLoad({ api, ports, deviceIds }, this.#memory, this.#chance);
    await load.happened(20 + Math.floor(3000 * this.#chance.next() ** 2));
    // Not only in the turn in which something was heard.
    await sleep(this.#chance.below(20));
    load.end();
    const killedAtMs = performance.now();
    await server.command.stop('SIGKILL');
    await load.ended();
    api.close();
    const { sleepLogins, accepted } = this.#memory;
    this.#durable.sleepLogins.push(...takeDurable(sleepLogins, killedAtMs));
    this.#durable.accepted.push(...takeDurable(accepted, killedAtMs));
    this.totals.rounds += 1;
  }

  /** The last crash is looked at too, and an orderly stop after it says that all is well. */
  async finish(): Promise<void> {
    const { server, api } = await this.#startAndCheck();
    api.close();
    assert.equal(await server.command.stop('SIGTERM'), 0, server.command.stderr);
  }

  /** Anywhere between the first line of the program and the first login. */
  async #killWhileStarting(): Promise<void> {
    const command = new LongCommand(this.#ending, serveArguments(this.#overrides));
    await sleep(this.#chance.below(2000));
    await command.stop('SIGKILL');
    this.totals.killsAtStart += 1;
  }

  async #startAndCheck(): Promise<{ readonly server: ServerProcess; readonly api: ApiClient }> {
    const server = await startServerProcess(this.#ending, this.#overrides);
    const api = new ApiClient(server.ports.api, siteCredential);
    const events = await readWholeLog(api);
    this.#checkShown(events, await readLog(api, this.#memory.cursor));
    const log = checkLog(events);
    this.#checkTold(log);
    for (const deviceId of deviceIds) await checkConnectivity(api, deviceId, log);
    this.totals.events = events.length;
    this.totals.shown = this.#memory.shown.length;
    this.totals.welcomes = this.#memory.welcomes.length;
    this.totals.nodeLost = sumOf(log, ({ nodeLost }) => nodeLost);
    this.totals.durableWakeups = this.#durable.accepted.length;
    return { server, api };
  }

  /** The reader has read from the oldest on: what it was shown is how the log begins, and its cursor is where that ends. */
  #checkShown(events: readonly ToldEvent[], behindCursor: readonly ToldEvent[]): void {
    const { shown } = this.#memory;
    assert.deepEqual(events.slice(0, shown.length), shown, 'an event that was shown is gone, or another');
    assert.deepEqual(events.slice(shown.length), behindCursor, 'the cursor misses or repeats events');
  }

  #checkTold({ connections, wakeups }: ToldLog): void {
    for (const kind of kinds)
      for (const [deviceId, { openSession }] of connections[kind])
        assert.equal(openSession, null, `${kind} of ${deviceId} is open, and nobody is connected`);
    const given = new Set<string>();
    for (const { what } of this.#memory.welcomes) {
      const epoch = `${what.deviceId} ${what.epoch}`;
      assert.ok(!given.has(epoch), `the epoch was told twice: ${epoch}`);
      given.add(epoch);
      const known = connections.signal.get(what.deviceId)?.epoch ?? 0;
      assert.ok(what.epoch <= known, `the login that was told this epoch is not in the log: ${epoch}`);
    }
    for (const requestId of this.#durable.accepted)
      assert.ok(wakeups.has(requestId), `answered 202 more than 1 s before the kill, and gone: ${requestId}`);
    for (const deviceId of deviceIds) {
      const heard = this.#durable.sleepLogins.filter((id) => id === deviceId).length;
      const known = connections.sleep.get(deviceId)?.epoch ?? 0;
      assert.ok(heard <= known, `${deviceId} logged in ${heard} times, the log knows ${known}`);
    }
  }
}

/** What was heard long enough before the kill; the rest may be lost, and is forgotten. */
export function takeDurable<What>(heard: Heard<What>[], killedAtMs: number): What[] {
  const all = heard.splice(0);
  return all.filter(({ atMs }) => atMs < killedAtMs - durableAfterMs).map(({ what }) => what);
}

function readWholeLog(api: ApiClient): Promise<ToldEvent[]> {
  return readLog(api, null);
}

async function readLog(api: ApiClient, after: string | null): Promise<ToldEvent[]> {
  const events: ToldEvent[] = [];
  for (let cursor = after; ;) {
    const page = await readEvents(api, cursor, 1000);
    if (page.events.length === 0) return events;
    events.push(...page.events);
    cursor = page.next;
  }
}

async function checkConnectivity(api: ApiClient, deviceId: string, { connections }: ToldLog): Promise<void> {
  const answer = await api.connectivity(deviceId);
  assert.equal(answer.json.code, 0, answer.text);
  const record = answer.json.data as Record<ConnectionKind, Record<string, number | boolean | null>>;
  assert.equal(record.signal['is_online'], false, `${deviceId} is online, and nobody is connected`);
  for (const kind of kinds) {
    const told = connections[kind].get(deviceId);
    const expected = { login: secondsOf(told?.openedAt ?? null), offline: secondsOf(told?.closedAt ?? null) };
    const { last_login_at: login, last_offline_at: offline } = record[kind];
    assert.deepEqual({ login, offline }, expected, `${kind} of ${deviceId} is not what the log says`);
  }
}

function secondsOf(at: string | null): number | null {
  return at === null ? null : Math.floor(Date.parse(at) / 1000);
}

function sumOf({ connections }: ToldLog, count: (of: { readonly nodeLost: number }) => number): number {
  return kinds.flatMap((kind) => [...connections[kind].values()]).reduce((sum, of) => sum + count(of), 0);
}
