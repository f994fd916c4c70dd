/**
 * What several processes of one machine make of the death of one of them. They are the same in all tests, one after the
 * other; every test has devices of its own, and none that sleep are left. Source: cluster.md, Several processes on one
 * machine.
 */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { after, test } from 'node:test';
import { sleepLoanConnectionsMin } from '../../src/model/sleep.ts';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiClient } from '../support/api-client.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import type { ToldEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import { processGone } from '../support/process-life.ts';
import { siteAppId, siteDevice, wake } from '../support/site-server.ts';
import { receiverSecret, WebhookReceiver } from '../support/webhook-receiver.ts';
import { lastFirst, type Ending } from '../support/temporary-store.ts';

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

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#calls;
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

const ending = lastFirst({ after });
const receiver = await WebhookReceiver.start(ending);
const webhooks = [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }];
const site = await ProcessSite.open(ending, 2, { webhooks, overrides: ['webhooks.allow_local=true'] });

/** So many devices from this one sleep until the test ends, once no others do. */
async function asleep(t: Ending, from: number, count: number): Promise<SleepingModule[]> {
  const sessions = async (): Promise<number[]> =>
    (await site.members()).map((one) => one.sleep_sessions ?? 0);
  while ((await sessions()).some((held) => held > 0)) await wait(20);
  const modules: SleepingModule[] = [];
  t.after(async () => {
    await Promise.all(modules.map((module) => module.close()));
  });
  for (const index of range(count)) {
    modules.push(await site.module(from + index));
    await site.committed(from + index);
  }
  return modules;
}

test('a process that dies takes its own sessions with it, once, is back within 2 s, and others feel nothing', async (t) => {
  // More than one worker is lent a socket for, so that both have some.
  const modules = await asleep(t, 100, sleepLoanConnectionsMin + 8);
  const lost = (await site.members())[1]?.sleep_sessions ?? 0;
  assert.ok(lost > 0 && lost < modules.length, `worker 1 has ${lost}`);
  // The spare is loaded by then.
  await wait(4000);
  const apis = site.everywhere();
  const callers = new Callers(apis);
  t.after(() => callers.stop());
  await callers.until(100);
  const reader = await EventReader.fromNow(site.newApi());
  const pid = await site.pidOf(1);
  process.kill(pid, 'SIGKILL');
  const tookMs = await site.replaced(1, pid);
  t.diagnostic(`back after ${Math.round(tookMs)} ms`);
  await callers.until(1000 + callers.answers.length);
  await callers.stop();
  assert.deepEqual(new Set(callers.answers), new Set([0]));
  assert.ok(callers.broken.size < apis.length);
  const hungUp = await Promise.all(modules.map(isHungUp));
  assert.equal(hungUp.filter(Boolean).length, lost);
  const ended = await reader.take(lost);
  assert.deepEqual(
    new Set(ended.map(({ type, data }) => `${type} ${String((data as { reason?: string }).reason)}`)),
    new Set(['device.sleep.offline node_lost']),
  );
  for (const [number, module] of modules.entries()) {
    if (hungUp[number] === true) continue;
    const woken = await wake(site.newApi(), 100 + number);
    assert.equal(woken.status, 202, woken.text);
    await module.nextPacket();
  }
  const rest = await reader.rest();
  assert.deepEqual(
    rest.filter(({ type }) => type === 'device.sleep.offline'),
    [],
  );
});

test('a process that hangs is killed and replaced, and its devices are not waited for', async (t) => {
  const modules = await asleep(t, 100, 1);
  const held = async (): Promise<number> => (await site.members())[2]?.sleep_sessions ?? 0;
  while ((await held()) < 2) modules.push(await site.module(100 + modules.length));
  const [lost, pid] = [await held(), await site.pidOf(2)];
  process.kill(pid, 'SIGSTOP');
  await site.replaced(2, pid);
  const api = site.newApi();
  const codes = await Promise.all(modules.map(async (_, index) => (await wake(api, 100 + index)).json.code));
  assert.deepEqual(codes.map(String).toSorted(), [
    ...Array<string>(modules.length - lost).fill('0'),
    ...Array<string>(lost).fill('40412'),
  ]);
});

test('a coordinator that dies leaves devices, queries and wakeups alone; webhooks go on behind it', async (t) => {
  const delivered = async (type: string, number: number): Promise<void> => {
    const isIt = ({ body }: { body: string }): boolean =>
      body.includes(siteDevice(number)) && body.includes(type);
    while (!receiver.received.some(isIt)) await receiver.until(receiver.received.length + 1);
  };
  const modules = await asleep(t, 60, 4);
  await delivered('device.sleep.login', 60);
  const pid = await site.pidOf(0);
  process.kill(pid, 'SIGKILL');
  const api = site.newApi();
  for (const [index, module] of modules.entries()) {
    const woken = await wake(api, 60 + index);
    assert.equal(woken.status, 202, woken.text);
    await module.nextPacket();
    assert.equal((await api.connectivity(siteDevice(60 + index))).json.code, 0);
  }
  await site.replaced(0, pid);
  await modules[0]?.close();
  for (const index of range(4)) await delivered('device.wakeup.accepted', 60 + index);
  await delivered('device.sleep.offline', 60);
  assert.deepEqual(await Promise.all(modules.slice(1).map(isHungUp)), [false, false, false]);
});

test('a process that dies leaves what it was waiting for to the coordinator: a login elsewhere completes its wakeup', async (t) => {
  const reader = await EventReader.fromNow(site.newApi());
  await asleep(t, 30, 1);
  const woken = await wake(site.newApi(), 30);
  assert.equal(woken.status, 202, woken.text);
  const isOwn = ({ device_id: deviceId }: ToldEvent): boolean => deviceId === siteDevice(30);
  await reader.until((event) => isOwn(event) && event.type === 'device.wakeup.accepted');
  const owner = (await site.members()).find((member) => member.sleep_sessions === 1);
  assert.ok(typeof owner?.pid === 'number');
  process.kill(owner.pid, 'SIGKILL');
  await processGone(owner.pid);
  // Connections that the dead process was about to accept break with it.
  const controller = await again(() => site.controller(30));
  const told = await again(() =>
    new EventReader(site.newApi()).until((event) => isOwn(event) && event.type === 'device.wakeup.completed'),
  );
  assert.deepEqual(
    told.filter((event) => isOwn(event) && event.type.startsWith('device.wakeup')).map(({ type }) => type),
    ['device.wakeup.accepted', 'device.wakeup.completed'],
  );
  await controller.close();
  await site.replaced(owner.process, owner.pid);
});

test('a supervisor that dies takes all with it, and the next start takes over', async (t) => {
  const modules = await asleep(t, 32, 4);
  await site.kill();
  await Promise.all(modules.map(({ closed }) => closed));
  await site.gone();
  await site.start();
  await asleep(t, 32, 1);
  const woken = await wake(site.newApi(), 32);
  assert.equal(woken.status, 202, woken.text);
});

test('processes that are told to stop one after another, under load, lose no wakeup that was accepted', async () => {
  const before = await Promise.all([1, 2].map((process) => site.pidOf(process)));
  const reader = await EventReader.fromNow(site.newApi());
  let accepted = 0;
  const stopping = new AbortController();
  const calling = range(8).map(async (index) => {
    while (!stopping.signal.aborted)
      try {
        const api = site.newApi();
        await site.module(40 + index);
        const { status } = await wake(api, 40 + index);
        if (status === 202) accepted += 1;
      } catch {
        // Its process is on its way out: the next login is elsewhere.
        await wait(20);
      }
  });
  process.kill(site.pid, 'SIGUSR2');
  await Promise.all([1, 2].map((process, index) => site.replaced(process, before[index] ?? 0)));
  stopping.abort();
  await Promise.all(calling);
  assert.ok(accepted > 0);
  const told: string[] = [];
  while (told.filter((type) => type === 'device.wakeup.accepted').length < accepted)
    told.push(...(await reader.take(1)).map(({ type }) => type));
});

test('processes that are told to stop drain in order and exit with 0', async () => {
  const modules = await Promise.all(range(4).map((index) => site.module(50 + index)));
  assert.equal(await site.stop(), 0);
  await Promise.all(modules.map(({ closed }) => closed));
  await site.gone();
  const said = site.server.command.lines.map((line) => JSON.parse(line) as { process?: number; msg: string });
  const stopped = said.filter(({ msg }) => msg === 'stopped').map(({ process }) => process ?? 'supervisor');
  assert.deepEqual(stopped.slice(-2), [0, 'supervisor']);
  assert.deepEqual(stopped.slice(-4, -2).map(String).toSorted(), ['1', '2']);
});

test('processes that are told to stop end at once at the second signal', async (t) => {
  const slow = await ProcessSite.open(t, 2, { overrides: ['sleep.drain_per_second=1'] });
  await Promise.all(range(16).map((number) => slow.module(number)));
  process.kill(slow.pid, 'SIGTERM');
  await slow.server.command.logged('stopping');
  assert.equal(await slow.stop(), 128 + 15);
  await slow.gone();
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
