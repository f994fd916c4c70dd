/** Operators look at devices and at the log: beside a running server, and over its restart. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import type { Ending } from '../support/temporary-store.ts';

interface Event {
  readonly id: string;
  readonly type: string;
  readonly device_id: string;
  readonly seq: number;
  readonly data: { readonly reason?: string };
}

interface Status {
  readonly signal: { readonly state: string; readonly reason: string | null };
  readonly sleep: { readonly state: string; readonly epoch: number };
  readonly transitions: readonly Event[];
}

const deviceId = 'SLEEPING01';

class Scene {
  readonly dataDirectory: string;
  #server: TestServer | null;

  private constructor(t: Ending, server: TestServer) {
    this.#server = server;
    this.dataDirectory = server.dataDirectory;
    t.after(async () => {
      await this.#server?.halt();
      await rm(this.dataDirectory, { recursive: true, force: true });
    });
  }

  static async open(t: Ending): Promise<Scene> {
    return new Scene(t, await startTestServer());
  }

  get server(): TestServer {
    assert.ok(this.#server !== null);
    return this.#server;
  }

  async halt(): Promise<void> {
    const { server } = this;
    this.#server = null;
    await server.halt();
  }

  async start(): Promise<void> {
    this.#server = await startTestServer({ dataDirectory: this.dataDirectory });
  }

  cli(...args: string[]): Promise<CliResult> {
    return runCli([...args, '--data-dir', this.dataDirectory]);
  }

  async text(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.cli(...args);
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }

  async status(): Promise<Status> {
    return JSON.parse(await this.text('status', deviceId, '--json')) as Status;
  }

  async events(...args: string[]): Promise<Event[]> {
    return linesOf(await this.text('events', '--json', ...args)).map((line) => JSON.parse(line) as Event);
  }

  follow(t: Ending, ...args: string[]): LongCommand {
    return new LongCommand(t, ['events', '--follow', ...args, '--data-dir', this.dataDirectory]);
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

function typesOf(events: readonly Event[]): string[] {
  return events.map(({ type, data }) => (data.reason === undefined ? type : `${type} ${data.reason}`));
}

const story = [
  'device.sleep.login',
  'device.signal.online',
  'device.signal.offline kicked',
  'device.sleep.offline kicked',
];

test('a device is online, asleep, kicked and gone, and is shown to be so', async (t) => {
  const scene = await Scene.open(t);
  const module = await scene.server.module(deviceId);
  const controller = await scene.server.controller(deviceId);
  const here = await scene.status();
  assert.deepEqual([here.signal.state, here.sleep.state, here.sleep.epoch], ['open', 'open', 1]);
  assert.deepEqual(typesOf(here.transitions), ['device.signal.online', 'device.sleep.login']);
  assert.match(await scene.text('status', deviceId), /^signal +online since .*(ago|just now)$/m);

  const kicked = await scene.text('device', 'kick', deviceId);
  assert.equal(kicked, `ended the signal and sleep sessions of ${deviceId}\n`);
  assert.equal((await controller.closed).code, 4410);
  module.close();
  const again = await scene.cli('device', 'kick', deviceId);
  assert.deepEqual([again.exitCode, again.stderr], [1, `${deviceId} has no session: nothing to end\n`]);

  const gone = await scene.status();
  assert.deepEqual([gone.signal.state, gone.signal.reason], ['closed', 'kicked']);
  assert.deepEqual(typesOf(gone.transitions), story.toReversed());
  assert.deepEqual(typesOf(await scene.events()), story);
});

test('events are chosen by device, type, number, time and place', async (t) => {
  const scene = await Scene.open(t);
  const modules = [await scene.server.module(deviceId), await scene.server.module('SLEEPING02')];
  await scene.cli('device', 'kick', deviceId);
  const all = await scene.events('--since', '1d');
  assert.deepEqual(typesOf(all), ['device.sleep.login', 'device.sleep.login', 'device.sleep.offline kicked']);
  const [first, second, third] = all;
  const chosen: [args: string[], wanted: (Event | undefined)[]][] = [
    [['--last', '1', '--device', 'SLEEPING02'], [second]],
    [['--last', '1', '--type', 'device.signal.*', '--type', 'device.sleep.l*'], [second]],
    [
      ['--since', String(first?.id)],
      [second, third],
    ],
  ];
  for (const [args, wanted] of chosen) assert.deepEqual(await scene.events(...args), wanted, args.join(' '));
  for (const module of modules) module.close();
});

test('what cannot be asked exits 2, an unknown device exits 1 and says what to do', async (t) => {
  const scene = await Scene.open(t);
  const cases: [args: string[], exitCode: number, said: RegExp][] = [
    [['status', 'NOBODY'], 1, /no device "NOBODY"[^]*registry list devices/],
    [['events', '--type', 'device.nap'], 2, /no such type/],
    [['events', '--since', '1h', '--last', '5'], 2, /cannot be used with/],
  ];
  for (const [args, exitCode, said] of cases) {
    const result = await scene.cli(...args);
    assert.equal(result.exitCode, exitCode, args.join(' '));
    assert.match(result.stderr, said);
    assert.doesNotMatch(result.stderr, /\n\s+at /, args.join(' '));
  }
});

test('a follower goes on over a restart, misses nothing and repeats nothing; Ctrl-C ends it with 0', async (t) => {
  const scene = await Scene.open(t);
  const follower = scene.follow(t, '--since', '1d', '--json');
  const module = await scene.server.module(deviceId);
  await follower.line((line) => line.includes('device.sleep.login'));
  await scene.halt();
  module.close();
  await scene.start();
  const second = await scene.server.module('SLEEPING02');
  await follower.line((line) => line.includes('SLEEPING02'));
  assert.equal(await follower.stop('SIGINT'), 0);
  const shown = follower.lines.map((line) => JSON.parse(line) as Event);
  assert.deepEqual(shown, await scene.events('--since', '1d'));
  assert.deepEqual(typesOf(shown), [
    'device.sleep.login',
    'device.sleep.offline drain',
    'device.sleep.login',
  ]);
  second.close();
});

test('a follower for people says that the server went and came, and ends with 0 when its reader has gone', async (t) => {
  const scene = await Scene.open(t);
  const follower = scene.follow(t, '--since', '1d', '--device', deviceId);
  const module = await scene.server.module(deviceId);
  await follower.line((line) => line.includes('device.sleep.login'));
  await scene.halt();
  module.close();
  await scene.start();
  const again = await scene.server.module(deviceId);
  await follower.line((line) => line.includes('epoch 2'));
  follower.hangUp();
  again.close();
  assert.equal(await follower.ended, 0);
  assert.match(follower.stderr, /following on when a server is back\nthe server is back\n$/);
});
