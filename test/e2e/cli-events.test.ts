/** Operators read devices and the log on a running server, and across its restart. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

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

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function cli(...args: string[]): Promise<CliResult> {
  return runCli([...args, '--data-dir', server.dataDirectory]);
}

async function text(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await cli(...args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

async function statusOf(): Promise<Status> {
  return JSON.parse(await text('status', deviceId, '--json')) as Status;
}

async function events(...args: string[]): Promise<Event[]> {
  return linesOf(await text('events', '--json', ...args)).map((line) => JSON.parse(line) as Event);
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

test('a device is shown as online, asleep, kicked and removed', async () => {
  const module = await server.module(deviceId);
  const controller = await server.controller(deviceId);
  const here = await statusOf();
  assert.deepEqual([here.signal.state, here.sleep.state, here.sleep.epoch], ['open', 'open', 1]);
  assert.deepEqual(typesOf(here.transitions), ['device.signal.online', 'device.sleep.login']);
  assert.match(await text('status', deviceId), /^signal +online since .*(ago|just now)$/m);

  const kicked = await text('device', 'kick', deviceId);
  assert.equal(kicked, `ended the signal and sleep sessions of ${deviceId}\n`);
  assert.equal((await controller.closed).code, 4410);
  module.close();
  const again = await cli('device', 'kick', deviceId);
  assert.deepEqual([again.exitCode, again.stderr], [1, `${deviceId} has no session: nothing to end\n`]);

  const gone = await statusOf();
  assert.deepEqual([gone.signal.state, gone.signal.reason], ['closed', 'kicked']);
  assert.deepEqual(typesOf(gone.transitions), story.toReversed());
  assert.deepEqual(typesOf(await events()), story);
});

test('invalid usage exits with 2, an unknown device exits with 1 and an advice', async () => {
  const cases: [args: string[], exitCode: number, said: RegExp][] = [
    [['status', 'NOBODY'], 1, /no device "NOBODY"[^]*device list/],
    [['events', '--type', 'device.nap'], 2, /no such type/],
    [['events', '--since', '1h', '--last', '5'], 2, /cannot be used with/],
  ];
  for (const [args, exitCode, said] of cases) {
    const result = await cli(...args);
    assert.equal(result.exitCode, exitCode, args.join(' '));
    assert.match(result.stderr, said);
    assert.doesNotMatch(result.stderr, /\n\s+at /, args.join(' '));
  }
});

test('a follower continues across a restart without gaps and repeats; Ctrl-C ends it with 0', async (t) => {
  const { dataDirectory } = server;
  const args = ['events', '--follow', '--since', '1d', '--json', '--data-dir', dataDirectory];
  const follower = new LongCommand(t, args);
  const module = await server.module(deviceId);
  await follower.line((line) => line.includes('device.sleep.login') && line.includes('"epoch":2'));
  await server.halt();
  module.close();
  server = await startTestServer({ dataDirectory });
  const second = await server.module('SLEEPING02');
  await follower.line((line) => line.includes('SLEEPING02'));
  assert.equal(await follower.stop('SIGINT'), 0);
  const shown = follower.lines.map((line) => JSON.parse(line) as Event);
  assert.deepEqual(shown, await events('--since', '1d'));
  assert.deepEqual(typesOf(shown.slice(-3)), [
    'device.sleep.login',
    'device.sleep.offline drain',
    'device.sleep.login',
  ]);
  second.close();
});

test('an access key is enough to read the same events of its application from the API', async () => {
  const file = join(temporaryDirectory({ after }), 'key.json');
  await text('credential', 'create', '--app', '2818153', '--permissions', 'events:read', '--output', file);
  const access = ['--url', `http://127.0.0.1:${server.ports.api}`, '--credential', file];
  const all = await events('--last', '1000', '--device', deviceId);
  const [first, second] = all;
  assert.ok(first && second);
  for (const start of [
    ['--last', '2'],
    ['--last', '1000'],
    ['--since', '1h'],
    ['--since', first.id],
  ]) {
    const asked = [...start, '--device', deviceId];
    assert.deepEqual(await events(...asked, ...access), await events(...asked), start.join(' '));
  }
  const typed = ['--since', '1h', '--type', 'device.sleep.*'];
  assert.deepEqual(await events(...typed, ...access), await events(...typed));
});
