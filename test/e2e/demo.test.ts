/** The demo as a process: every step of its story, on its own server and on a running one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

/** Expected output, in this order. */
const steps: readonly RegExp[] = [
  /server +no server runs on \S+, so one starts for this demo/,
  /server +device DEMO-\w+ and bridge DEMO-BRIDGE-\w+ added for this demo/,
  /controller +signed in as DEMO-\w+, epoch 1; received: a heartbeat every 30 s, sleep at 127\.0\.0\.1:\d+, media at ws:\/\/127\.0\.0\.1:\d+/,
  /connectivity, online: HTTP 200, code 0\n +signal +\{"is_online":true,"last_login_at":\d+/,
  /module +logged in, while the controller is awake/,
  /controller +said bye and is off: the device is asleep/,
  /connectivity, asleep: .*\n +signal +\{"is_online":false,.*\n +sleep +\{"last_login_at":\d+,"last_heartbeat_at":\d+/,
  /signed wakeup: HTTP 202, code 0, request [\w-]+/,
  /packet on the wire: 98 3b 16 f8 f3 9c 00 00, \d+\.\d ms/,
  /controller +signed in as DEMO-\w+, epoch 2/,
  /connectivity, online: .*\n +signal +\{"is_online":true/,
  /outcome of that wakeup: online again after \d+ ms \(cause: remote\)/,
  /signed call credentials: HTTP 200, code 0, session [\w-]+/,
  /message msga_join_voip_room: its credentials, acknowledged/,
  /signed message msga_join_voip_room: HTTP 200, code 0, acknowledged/,
  /device leg +connected to ws:\/\/127\.0\.0\.1:\d+ with the token, and accepts the call/,
  /bridge +plays h264 240×320, 15 frames a second/,
  /call status, with both legs: HTTP 200, code 0, in_call true/,
  /device leg +receives JPEGs of 74×100, fitted to 160×100/,
  /demo +picture saved: .*reveille-demo-picture\.jpg\n/,
  /device leg +closed with 1000 ended/,
  /call status, after the call: HTTP 200, code 0, in_call false/,
  /server +device and bridge of the demo are removed/,
  /demo +the demo succeeded/,
];

const engine = await openEngine();
const skip = engine.ok ? false : engine.error;

function assertStory(said: string): void {
  let rest = said;
  for (const step of steps) {
    const found = step.exec(rest);
    assert.ok(found !== null, `${String(step)} is not, or not in its place, in:\n${said}`);
    rest = rest.slice(found.index + found[0].length);
  }
}

test('the demo shows the whole story on its own server, and saves a picture', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const args = ['demo', '--data-dir', join(directory, 'data'), '--pictures', directory];
  const { exitCode, stdout, stderr } = await runCli(args);
  assert.equal(exitCode, 0, stdout + stderr);
  assertStory(stdout);
  assert.equal(stderr, '');
  const jpeg = readFileSync(join(directory, 'reveille-demo-picture.jpg'));
  assert.deepEqual(jpegSize(jpeg), { width: 74, height: 100 });
});

/** The exported registry. */
async function registered(directory: string): Promise<unknown> {
  const { stdout } = await runCli(['registry', 'export', '--data-dir', directory]);
  return JSON.parse(stdout);
}

test(
  'the demo plays on a running server, reports each step as an object, and leaves nothing there',
  { skip },
  async (t) => {
    const directory = join(temporaryDirectory(t), 'data');
    const freePorts = settingArguments(freeListens);
    const server = new LongCommand(t, ['serve', '--demo', '--data-dir', directory, ...freePorts]);
    await server.line((line) => line.includes('"msg":"ready"'));
    const before = await registered(directory);
    const nowhere = join(directory, 'nowhere');
    const { exitCode, stdout, stderr } = await runCli([
      'demo',
      '--json',
      '--data-dir',
      directory,
      '--pictures',
      nowhere,
    ]);
    assert.equal(exitCode, 0, stdout + stderr);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(await registered(directory), before);
    assert.deepEqual(told[0], { chapter: 'The stage' });
    assert.match(String(told[1]?.['what']), new RegExp(`process ${server.pid} runs`));
    const outcome = told.find((step) => 'outcome' in step)?.['outcome'] as Record<string, unknown>;
    assert.deepEqual([outcome['status'], outcome['already_online']], ['completed', false]);
    assert.ok(Number(outcome['woke_after_ms']) >= 300, 'the controller of the demo boots for 300 ms');
    assert.deepEqual(told.find((step) => 'picture' in step)?.['picture'], { width: 74, height: 100 });
    const unsaved = told.find(({ what }) => String(what).startsWith('picture not saved'));
    assert.match(String(unsaved?.['what']), /ENOENT.*--pictures/, 'and the story goes on');
    assert.equal(await server.stop('SIGTERM'), 0);
  },
);
