/** What several processes of one machine make of the death of one of them. Source: cluster.md, Several processes on one machine. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { processHeartbeatMs, processSilentHeartbeatsMax } from '../../src/model/limits.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiClient } from '../support/api-client.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { siteAppId, siteDevice } from '../support/cluster-site.ts';
import { EventReader } from '../support/event-reader.ts';
import { processGone } from '../support/process-life.ts';
import { receiverSecret, WebhookReceiver } from '../support/webhook-receiver.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The kernel hands a connection to the worker that has it until it ends: asked by one, so many answer or break with it. */
class Callers {
  readonly answers: number[] = [];
  /** How often each was broken off. */
  readonly broken = new Map<ApiClient, number>();
  readonly #stopping = new AbortController();
  readonly #calls: Promise<unknown>;

  constructor(apis: readonly ApiClient[]) {
    this.#calls = Promise.all(apis.map((api) => this.#call(api)));
  }

  async until(count: number): Promise<void> {
    while (this.answers.length < count) await wait(10);
  }

  stop(): Promise<unknown> {
    this.#stopping.abort();
    return this.#calls;
  }

  /**
   * A connection breaks with the process that has it. The kernel closes what that one had, its listening socket last: the
   * next connection may still wait there, and break with it. The one after that is another's.
   */
  async #call(api: ApiClient): Promise<void> {
    for (let number = 0; !this.#stopping.signal.aborted; number += 1)
      try {
        const { json } = await api.connectivity(siteDevice(number % 16));
        this.answers.push(json.code ?? -1);
      } catch (error) {
        const times = (this.broken.get(api) ?? 0) + 1;
        assert.ok(times <= 2, `broken ${times} times: ${String(error)}`);
        this.broken.set(api, times);
      }
  }
}

function isHungUp(module: SleepingModule): Promise<boolean> {
  return Promise.race([module.closed.then(() => true), wait(0, false)]);
}

describe('a process that dies', { timeout: 180_000 }, () => {
  test('takes its own sessions with it, once, is back within 2 s, and others feel nothing', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const modules: SleepingModule[] = [];
    for (const number of range(16)) {
      modules.push(await site.module(number));
      await site.committed(number);
    }
    // The spare is loaded by then.
    await wait(4000);
    const apis = range(16).map(() => site.api());
    const callers = new Callers(apis);
    await callers.until(100);
    const reader = await EventReader.fromNow(site.api());
    const pid = await site.pid(1);
    process.kill(pid, 'SIGKILL');
    const tookMs = await site.replaced(1, pid, 10_000);
    assert.ok(tookMs < 2000, `back after ${Math.round(tookMs)} ms`);
    await callers.until(1000 + callers.answers.length);
    await callers.stop();
    assert.deepEqual(new Set(callers.answers), new Set([0]));
    assert.ok(callers.broken.size < apis.length);
    const hungUp = await Promise.all(modules.map(isHungUp));
    assert.equal(hungUp.filter(Boolean).length, 8);
    const ended = await reader.take(8);
    assert.deepEqual(
      new Set(ended.map(({ type, data }) => `${type} ${String((data as { reason?: string }).reason)}`)),
      new Set(['device.sleep.offline node_lost']),
    );
    for (const [number, module] of modules.entries()) {
      if (hungUp[number] === true) continue;
      const woken = await site.api().wake({ device_id: siteDevice(number) });
      assert.equal(woken.status, 202, woken.text);
      await module.nextPacket();
    }
    const rest = await reader.rest();
    assert.deepEqual(
      rest.filter(({ type }) => type === 'device.sleep.offline'),
      [],
    );
  });

  test('or hangs is killed and replaced, and its devices are not waited for', async (t) => {
    const site = await ProcessSite.start(t, 2);
    for (const number of range(4)) {
      await site.module(number);
      await site.committed(number);
    }
    const pid = await site.pid(2);
    process.kill(pid, 'SIGSTOP');
    await site.replaced(2, pid, processHeartbeatMs * (processSilentHeartbeatsMax + 10));
    const api = site.api();
    const codes = await Promise.all(
      range(4).map(async (number) => (await api.wake({ device_id: siteDevice(number) })).json.code),
    );
    assert.deepEqual(codes.map(String).toSorted(), ['0', '0', '40412', '40412']);
  });

  test('and is the coordinator leaves devices, queries and wakeups alone; webhooks go on behind it', async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const webhooks = [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }];
    const site = await ProcessSite.start(t, 2, { webhooks, overrides: ['webhooks.allow_local=true'] });
    const modules = await Promise.all(range(4).map((number) => site.module(number)));
    await receiver.until(4);
    const pid = await site.pid(0);
    process.kill(pid, 'SIGKILL');
    const api = site.api();
    for (const [number, module] of modules.entries()) {
      const woken = await api.wake({ device_id: siteDevice(number) });
      assert.equal(woken.status, 202, woken.text);
      await module.nextPacket();
      assert.equal((await api.connectivity(siteDevice(number))).json.code, 0);
    }
    await site.replaced(0, pid, 20_000);
    await modules[0]?.close();
    await receiver.until(4 + 4 + 1);
    assert.deepEqual(await Promise.all(modules.slice(1).map(isHungUp)), [false, false, false]);
  });

  test('leaves what it was waiting for to the coordinator: a login elsewhere completes its wakeup', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const reader = await EventReader.fromNow(site.api());
    await site.module(0);
    await site.committed(0);
    const woken = await site.wake(site.api(), 0);
    assert.equal(woken.status, 202, woken.text);
    await reader.until(({ type }) => type === 'device.wakeup.accepted');
    const owner = (await site.members()).find((member) => member.sleep_sessions === 1);
    assert.ok(typeof owner?.pid === 'number');
    process.kill(owner.pid, 'SIGKILL');
    await processGone(owner.pid);
    // Connections that the dead process was about to accept break with it.
    const controller = await again(() => site.controller(0));
    const told = await again(() =>
      new EventReader(site.api()).until(({ type }) => type === 'device.wakeup.completed'),
    );
    assert.deepEqual(
      told.map(({ type }) => type).filter((type) => type.startsWith('device.wakeup')),
      ['device.wakeup.accepted', 'device.wakeup.completed'],
    );
    await controller.close();
  });

  test('and is the supervisor takes all with it, and the next start takes over', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const modules = await Promise.all(range(4).map((number) => site.module(number)));
    await site.server.command.stop('SIGKILL');
    await Promise.all(modules.map(({ closed }) => closed));
    await site.gone();
    await site.restart();
    await site.module(0);
    await site.committed(0);
    const woken = await site.api().wake({ device_id: siteDevice(0) });
    assert.equal(woken.status, 202, woken.text);
  });
});

describe('processes that are told to stop', { timeout: 180_000 }, () => {
  test('drain in order and exit with 0', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const modules = await Promise.all(range(4).map((number) => site.module(number)));
    assert.equal(await site.server.command.stop('SIGTERM'), 0);
    await Promise.all(modules.map(({ closed }) => closed));
    await site.gone();
    const said = site.server.command.lines.map(
      (line) => JSON.parse(line) as { process?: number; msg: string },
    );
    const stopped = said.filter(({ msg }) => msg === 'stopped').map(({ process }) => process ?? 'supervisor');
    assert.deepEqual(stopped.slice(2), [0, 'supervisor']);
    assert.deepEqual(stopped.slice(0, 2).map(String).toSorted(), ['1', '2']);
  });

  test('end at once at the second signal', async (t) => {
    const site = await ProcessSite.start(t, 2, { overrides: ['sleep.drain_per_second=1'] });
    await Promise.all(range(16).map((number) => site.module(number)));
    process.kill(site.server.command.pid ?? 0, 'SIGTERM');
    await site.server.command.logged('stopping');
    assert.equal(await site.server.command.stop('SIGTERM'), 128 + 15);
    await site.gone();
  });

  test('one after another, under load, lose no wakeup that was accepted', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const before = await Promise.all([1, 2].map((process) => site.pid(process)));
    const reader = await EventReader.fromNow(site.api());
    let accepted = 0;
    const stopping = new AbortController();
    const calling = range(8).map(async (number) => {
      while (!stopping.signal.aborted)
        try {
          const api = site.api();
          await site.module(number);
          const { status } = await site.wake(api, number);
          if (status === 202) accepted += 1;
        } catch {
          // Its process is on its way out: the next login is elsewhere.
          await wait(20);
        }
    });
    process.kill(site.server.command.pid ?? 0, 'SIGUSR2');
    await Promise.all([1, 2].map((process, index) => site.replaced(process, before[index] ?? 0, 60_000)));
    stopping.abort();
    await Promise.all(calling);
    assert.ok(accepted > 0);
    const told: string[] = [];
    while (told.filter((type) => type === 'device.wakeup.accepted').length < accepted)
      told.push(...(await reader.take(1)).map(({ type }) => type));
    assert.equal(await site.server.command.stop('SIGTERM'), 0);
  });
});

/** What a device or a backend does whose connection broke; a few times. */
async function again<Result>(act: () => Promise<Result>, times = 5): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (times === 1) throw error;
    await wait(100);
    return again(act, times - 1);
  }
}
