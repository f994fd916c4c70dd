/** Real server processes with sessions of both kinds: an orderly stop, `kill -9`, a second start, SIGHUP. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { ApiClient, type ApiAnswer } from '../support/api-client.ts';
import { runCli } from '../support/cli-process.ts';
import { readEvents } from '../support/crash-load.ts';
import { checkLog, type ToldEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import { serveArguments, startServerProcess, type ServerProcess } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { testCredentials, writeTestRegistry } from '../support/test-server.ts';

const clock = new SystemClock();

/** One data directory, and the servers that have it one after the other. */
class Site {
  readonly overrides: readonly string[];
  readonly #t: Ending;
  readonly #apis: ApiClient[] = [];
  #server: ServerProcess | null = null;

  private constructor(t: Ending, overrides: readonly string[]) {
    this.#t = t;
    this.overrides = overrides;
    t.after(() => this.#hangUp());
  }

  static async make(t: Ending, ...more: readonly string[]): Promise<Site> {
    const directory = temporaryDirectory(t);
    const registry = `registry.file=${await writeTestRegistry(directory)}`;
    return new Site(t, [`data.dir=${directory}`, registry, 'auth.verification=inline', ...more]);
  }

  get server(): ServerProcess {
    assert.ok(this.#server !== null, 'a site has a server once it is started');
    return this.#server;
  }

  async start(): Promise<void> {
    this.#server = await startServerProcess(this.#t, this.overrides);
  }

  /** A client of the server that is there now. */
  api(): ApiClient {
    const api = new ApiClient(this.server.ports.api, testCredentials.all);
    this.#apis.push(api);
    return api;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const code = await this.server.command.stop(signal);
    this.#hangUp();
    return code;
  }

  controller(deviceId: string): Promise<SignalController> {
    return SignalController.connect({
      url: `ws://127.0.0.1:${this.server.ports.signal}`,
      deviceId,
      secret: `secret of ${deviceId}`,
      clock,
    });
  }

  module(deviceId: string): Promise<SleepingModule> {
    return SleepingModule.connect(this.server.ports.sleep, { deviceId, secret: `secret of ${deviceId}` });
  }

  #hangUp(): void {
    for (const api of this.#apis.splice(0)) api.close();
  }
}

const deviceIds = ['TESTDEVICE01', 'SLEEPING01', 'SLEEPING02'];

function outcomeOf(api: ApiClient, requestId: string, waitS: number): Promise<ApiAnswer> {
  return api.call({ path: '/v1/device/wakeup-request', query: `request_id=${requestId}&wait=${waitS}` });
}

/** Accepted, and its event is committed: a crash from now on cannot forget it. */
async function wake(api: ApiClient, deviceId: string, requestId: string): Promise<void> {
  const reader = await EventReader.fromNow(api);
  const answer = await api.wake({ device_id: deviceId }, { spoil: { 'X-Request-ID': requestId } });
  assert.equal(answer.status, 202, answer.text);
  await reader.until(({ data }) => data['request_id'] === requestId);
}

function endsOf(told: readonly ToldEvent[], reason: string): string[] {
  return told
    .filter(({ data }) => data['reason'] === reason)
    .map(({ type, device_id }) => `${type} ${device_id}`)
    .sort();
}

const everyEnd = ['device.signal.offline', 'device.sleep.offline'].flatMap((type) =>
  deviceIds.map((deviceId) => `${type} ${deviceId}`).sort(),
);

async function everybody(site: Site): Promise<{
  readonly controllers: readonly SignalController[];
  readonly modules: readonly SleepingModule[];
}> {
  const modules = await Promise.all(deviceIds.map((deviceId) => site.module(deviceId)));
  const controllers = await Promise.all(deviceIds.map((deviceId) => site.controller(deviceId)));
  return { controllers, modules };
}

test('SIGTERM: controllers are told, waits are answered, everything is in the log, and the process ends with 0', async (t) => {
  const site = await Site.make(t);
  await site.start();
  const api = site.api();
  await wakeWithoutController(site, api);
  const { controllers, modules } = await everybody(site);
  const { next } = await readEvents(api, 'latest', 1);
  const waiting = readEvents(api, next, 1000, 30);
  const message = api.call({
    method: 'POST',
    path: '/v1/device/message',
    body: JSON.stringify({ device_id: deviceIds[0], name: 'hello', payload: {} }),
  });
  await controllers[0]?.nextMessage();
  assert.equal(await site.stop('SIGTERM'), 0, site.server.command.stderr);
  assert.deepEqual((await waiting).events, []);
  assert.equal((await message).json.code, 50402);
  for (const { closed } of controllers) assert.deepEqual(await closed, { code: 4503, reason: 'draining' });
  await Promise.all(modules.map(({ closed }) => closed));
  assert.ok(site.server.command.lines.some((line) => line.includes('"msg":"stopped"')));

  await site.start();
  const told = await new EventReader(site.api()).rest();
  checkLog(told);
  assert.deepEqual(endsOf(told, 'drain'), everyEnd);
  assert.deepEqual(endsOf(told, 'node_lost'), []);
  const { events } = await readEvents(site.api(), next, 1000);
  assert.deepEqual(endsOf(events, 'drain'), everyEnd, 'the cursor goes on behind what was shown');
  assert.equal(await site.stop('SIGTERM'), 0);
});

/** A session that ended before, so that the log has more than the drain's. */
async function wakeWithoutController(site: Site, api: ApiClient): Promise<void> {
  const module = await site.module('SLEEPING01');
  await wake(api, 'SLEEPING01', 'before');
  await module.close();
  const reader = new EventReader(api);
  await reader.until(({ type }) => type === 'device.sleep.offline');
}

test('kill -9: every open session is lost with its node once, of both kinds, and epochs go on', async (t) => {
  const site = await Site.make(t);
  for (const round of [1, 2]) {
    await site.start();
    const { controllers, modules } = await everybody(site);
    for (const { welcome } of controllers) assert.equal(welcome.epoch, round);
    await new EventReader(site.api()).take(everyEnd.length * (2 * round - 1));
    await site.stop('SIGKILL');
    await Promise.all([...controllers, ...modules].map(({ closed }) => closed));
  }
  await site.start();
  await site.stop('SIGKILL');
  await site.start();
  const api = site.api();
  const told = await new EventReader(api).rest();
  const { connections } = checkLog(told);
  assert.deepEqual(endsOf(told, 'node_lost'), [...everyEnd, ...everyEnd].sort());
  for (const kind of ['signal', 'sleep'] as const)
    for (const deviceId of deviceIds) {
      const { epoch, openSession, nodeLost } = connections[kind].get(deviceId) ?? {};
      assert.deepEqual([epoch, openSession, nodeLost], [2, null, 2]);
    }
  const { json } = await api.connectivity('SLEEPING01');
  assert.equal((json.data as { signal?: { is_online?: boolean } }).signal?.is_online, false);
  const back = await site.controller('SLEEPING01');
  assert.equal(back.welcome.epoch, 3);
  assert.equal(await site.stop('SIGTERM'), 0);
});

test('a crash between commit and telling: what one reader was shown every other finds after the restart', async (t) => {
  const site = await Site.make(t);
  await site.start();
  let known: readonly ToldEvent[] = [];
  for (const deviceId of deviceIds) {
    const { next } = await readEvents(site.api(), 'latest', 1);
    const waiting = readEvents(site.api(), next, 1000, 30);
    const coming = site.controller(deviceId).catch(() => null);
    const { events: shown } = await waiting;
    await site.stop('SIGKILL');
    await coming;
    assert.deepEqual(
      shown.map(({ type, device_id }) => [type, device_id]),
      [['device.signal.online', deviceId]],
    );
    await site.start();
    const found = await new EventReader(site.api()).rest();
    const expected = [...known, ...shown];
    assert.deepEqual(found.slice(0, expected.length), expected, 'the same, in the same places');
    known = found;
  }
  assert.equal(checkLog(known).connections.signal.size, deviceIds.length);
  assert.equal(await site.stop('SIGTERM'), 0);
});

test('kill -9 in the middle of a wait: the login after the restart completes the wakeup', async (t) => {
  const site = await Site.make(t);
  await site.start();
  const module = await site.module('SLEEPING01');
  const startedMs = performance.now();
  await wake(site.api(), 'SLEEPING01', 'before-the-crash');
  const cut = outcomeOf(site.api(), 'before-the-crash', 30).catch((error: Error) => error);
  await site.stop('SIGKILL');
  assert.ok((await cut) instanceof Error);
  await module.closed;
  await site.start();
  const waiting = outcomeOf(site.api(), 'before-the-crash', 30);
  const controller = await site.controller('SLEEPING01');
  const { data } = (await waiting).json;
  assert.equal(data?.['status'], 'completed');
  const tookMs = Number(data['woke_after_ms']);
  assert.ok(tookMs > 0 && tookMs <= performance.now() - startedMs + 1, `woke after ${tookMs} ms`);
  await controller.bye('done');
  const told = await new EventReader(site.api()).rest();
  assert.deepEqual([...checkLog(told).wakeups], [['before-the-crash', 'device.wakeup.completed']]);
  assert.equal(await site.stop('SIGTERM'), 0);
});

test('a second start on a directory that is in use is refused, and the first server feels nothing', async (t) => {
  const site = await Site.make(t);
  await site.start();
  const controller = await site.controller('SLEEPING01');
  const { exitCode, stderr } = await runCli(serveArguments(site.overrides));
  assert.notEqual(exitCode, 0);
  assert.match(stderr, /is in use by process \d+/);
  const api = site.api();
  const { json } = await api.connectivity('SLEEPING01');
  assert.equal((json.data as { signal?: { is_online?: boolean } }).signal?.is_online, true);
  const { events } = await readEvents(api, null, 1000);
  assert.deepEqual(endsOf(events, 'node_lost'), []);
  assert.equal(await site.stop('SIGTERM'), 0);
  assert.equal((await controller.closed).code, 4503);
});

test('a second start on ports that are in use is refused and ends no session of its own directory twice', async (t) => {
  const site = await Site.make(t);
  await site.start();
  const { api, signal, sleep } = site.server.ports;
  const other = await Site.make(t);
  for (const listen of [
    `api.listen=127.0.0.1:${api}`,
    `signal.listen=127.0.0.1:${signal}`,
    `sleep.listen=127.0.0.1:${sleep}`,
  ]) {
    const { exitCode, stdout } = await runCli(serveArguments([...other.overrides, listen]));
    assert.notEqual(exitCode, 0, listen);
    assert.ok(!stdout.includes('"msg":"ready"'), stdout);
  }
  const controller = await site.controller('SLEEPING01');
  await controller.bye('it is still there');
  assert.equal(await site.stop('SIGTERM'), 0);
});

test(
  'SIGHUP: controllers who come meet the new certificate, those who are here live on',
  { skip: noOpenssl },
  async (t) => {
    const tls = new TestCertificate(temporaryDirectory(t));
    tls.use('first');
    const site = await Site.make(
      t,
      `signal.tls_cert_file=${tls.certFile}`,
      `signal.tls_key_file=${tls.keyFile}`,
    );
    await site.start();
    const connect = (deviceId: string, trusted: string): Promise<SignalController> =>
      SignalController.connect({
        url: `wss://127.0.0.1:${site.server.ports.signal}`,
        deviceId,
        secret: `secret of ${deviceId}`,
        ca: tls.certificateOf(trusted),
        clock,
      });
    const older = await connect('SLEEPING01', 'first');
    tls.use('second');
    const { command } = site.server;
    process.kill(command.pid ?? 0, 'SIGHUP');
    // The last thing that a reload does.
    await command.line((line) => line.includes('"msg":"token keys read again"'));
    const newer = await connect('SLEEPING02', 'second');
    await assert.rejects(connect('TESTDEVICE01', 'first'));
    const { json } = await site.api().connectivity('SLEEPING01');
    assert.equal((json.data as { signal?: { is_online?: boolean } }).signal?.is_online, true);
    assert.equal(await site.stop('SIGTERM'), 0);
    for (const { closed } of [older, newer]) assert.equal((await closed).code, 4503);
  },
);

test('SIGTERM under a storm of logins: nobody is welcomed without a trace, and the process ends with 0', async (t) => {
  const site = await Site.make(t, 'signal.drain_per_second=200', 'sleep.drain_per_second=200');
  await site.start();
  const welcomed = new Map<string, number>();
  const weather = { isOver: false };
  const storm = deviceIds.map(async (deviceId) => {
    while (!weather.isOver)
      try {
        const [controller] = await Promise.all([site.controller(deviceId), site.module(deviceId)]);
        welcomed.set(deviceId, controller.welcome.epoch);
      } catch {
        return;
      }
  });
  await new EventReader(site.api()).take(60);
  const code = await site.stop('SIGTERM');
  weather.isOver = true;
  await Promise.all(storm);
  assert.equal(code, 0, site.server.command.lines.slice(-3).join('\n'));
  await site.start();
  const told = await new EventReader(site.api()).rest();
  const { connections } = checkLog(told);
  assert.deepEqual(endsOf(told, 'node_lost'), []);
  for (const [deviceId, epoch] of welcomed) {
    const connection = connections.signal.get(deviceId);
    assert.ok((connection?.epoch ?? 0) >= epoch, 'an epoch that was told is in the log');
    assert.equal(connection?.openSession, null);
  }
  assert.equal(await site.stop('SIGTERM'), 0);
});
