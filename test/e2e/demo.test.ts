/** The demo as a process: every step of its story, on a server of its own and beside one that runs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { withoutNodeAv } from '../support/without-node-av.ts';

/** Of each of the two calls; `pictures`: what its device receives. */
function aCall(pictures: RegExp): RegExp[] {
  return [
    /bridge +connected as DEMO-BRIDGE-\w+, and idle/,
    /call status, before the call: in_call false/,
    /signed call credentials: HTTP 200, code 0\n +peer_id +whips:\/\/msgvoip\?…&x_session=[\w-]+\n +token +eyJ\w{5}…\n +media_url +ws:\/\/127\.0\.0\.1:\d+\n/,
    /bridge +assigned [\w-]+, and accepts/,
    /bridge +told what to ask the phone for: video 320×240 at most 15 a second, audio alaw at 8000 Hz/,
    /message msga_join_voip_room: its credentials, acknowledged\n +peer_id .*\n +token +eyJ\w{5}…\n +media_url +ws:\/\/127\.0\.0\.1:\d+\n/,
    /signed message msga_join_voip_room: HTTP 200, code 0, acknowledged at /,
    /device leg +connected to ws:\/\/127\.0\.0\.1:\d+ with the token of the message/,
    /call status, device and bridge are there: in_call true/,
    /device leg +accepts the call/,
    /bridge +told: the call is attempting/,
    /bridge +reports: connected/,
    /device leg +told: the call is connected/,
    /bridge +plays h264 240×320, 15 frames a second/,
    pictures,
    /bridge +reports: the phone has hung up/,
    /device leg +told: the call is ended, hangup_phone/,
    /device leg +closed with 1000 ended/,
    /call status, after the call: in_call false/,
  ];
}

/** What has to be said, in this order. */
const steps: readonly RegExp[] = [
  /server +API on .*, sleep server on /,
  /server +signal listener on /,
  /server +device DEMO-\w+ and bridge DEMO-BRIDGE-\w+ added for this story/,
  /connectivity, before:\n +signal +offline +login - +heartbeat - +offline -\n +sleep +login - /,
  /controller +signed in as DEMO-\w+, epoch 1; told: a heartbeat every 30 s, sleep at 127\.0\.0\.1:\d+, media at ws:\/\/127\.0\.0\.1:\d+/,
  /connectivity, online:\n +signal +online +login \d\d:\d\d:\d\d /,
  /module +logged in, wake mode custom, while the controller is awake/,
  /controller +said bye and is off: the device is asleep/,
  /connectivity, asleep:\n +signal +offline +login \d\d:\d\d:\d\d .*offline \d\d:\d\d:\d\d\n +sleep +login \d\d:\d\d:\d\d /,
  /module +heartbeat: 64 bytes/,
  /connectivity, asleep:\n.*\n +sleep +login \d\d:\d\d:\d\d +heartbeat \d\d:\d\d:\d\d +offline -/,
  /signed wakeup: HTTP 202, code 0, request [\w-]+/,
  /packet on the wire: 98 3b 16 f8 f3 9c 00 00, /,
  /controller +signed in as DEMO-\w+, epoch 2/,
  /wake report: woken by remote/,
  /outcome of that wakeup: completed, online again after \d+ ms \(cause: remote\)/,
  /connectivity, awake:\n +signal +online /,
  /signed wakeup with custom_data 0x12aB: HTTP 202, code 0/,
  /packet on the wire: 98 3b 16 f8 f3 9c 12 ab, /,
  /outcome of that wakeup: completed, it was online already/,
  /custom_data 0x0001: HTTP 409, code 40902/,
  /custom_data 0x0002: HTTP 404, code 40412/,
  ...aCall(/15 pictures of 74×100, \d+\.\d a second, \d+\.\d kB each/),
  ...aCall(/15 pictures of 160×100, \d+\.\d a second, \d+\.\d kB each/),
  /demo +pictures saved: .*reveille-demo-pictures\.png\n/,
  /\n8\. What the event log says\n/,
  /seq +\d+ +device\.signal\.online +epoch 1/,
  /seq +\d+ +device\.sleep\.login +epoch 1/,
  /seq +\d+ +device\.signal\.offline +bye, epoch 1/,
  /seq +\d+ +device\.wakeup\.accepted +request /,
  /seq +\d+ +device\.signal\.online +epoch 2/,
  /seq +\d+ +device\.wakeup\.completed +online after \d+ ms, request /,
  /seq +\d+ +call\.started +establishing, session /,
  /seq +\d+ +call\.state +attempting, session /,
  /seq +\d+ +call\.state +connected, session /,
  /seq +\d+ +call\.ended +ended, hangup_phone, session /,
  /seq +\d+ +call\.started +establishing, session /,
  /seq +\d+ +call\.state +attempting, session /,
  /seq +\d+ +call\.state +connected, session /,
  /seq +\d+ +call\.ended +ended, hangup_phone, session /,
  /seq +\d+ +device\.signal\.offline +bye, epoch 2/,
  /server +device and bridge of the story are removed again/,
  /\nIn short\n +a sleeping device is woken +packet on the wire after \d+\.\d ms, online again after \d+ ms/,
  /a call with fit_screen +15 pictures of 74×100, /,
  /events of all this +19, none missing and none out of order\n/,
  /demo +the story went as it should/,
];

const engine = await openEngine();
const skip = engine.ok ? false : engine.error;

interface Pictures {
  readonly count: number;
  readonly width: number;
  readonly height: number;
}

function assertStory(said: string): void {
  let rest = said;
  for (const step of steps) {
    const found = step.exec(rest);
    assert.ok(found !== null, `${String(step)} is not, or not in its place, in:\n${said}`);
    rest = rest.slice(found.index + found[0].length);
  }
}

test('the demo tells the whole story on a server of its own, and saves its pictures', { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const args = ['demo', '--data-dir', join(directory, 'data'), '--pictures', directory];
  const { exitCode, stdout, stderr } = await runCli(args);
  assert.equal(exitCode, 0, stdout + stderr);
  assertStory(stdout);
  const png = readFileSync(join(directory, 'reveille-demo-pictures.png'));
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  // The phone's picture and two screens, enlarged threefold, each with a margin; captions above.
  const margin = 16;
  assert.deepEqual(
    [png.readUInt32BE(16), png.readUInt32BE(20)],
    [margin + 240 + margin + 480 + margin + 480 + margin, margin + 42 + 320 + margin],
  );
});

/** The devices and bridges of the registry, as it is exported. */
async function registered(directory: string): Promise<readonly unknown[]> {
  const { stdout } = await runCli(['registry', 'export', '--data-dir', directory]);
  const { devices, bridges } = JSON.parse(stdout) as Record<string, readonly unknown[]>;
  return [devices, bridges];
}

test(
  'beside a running server the demo plays on that, and every step is an object for machines',
  { skip },
  async (t) => {
    const directory = join(temporaryDirectory(t), 'data');
    const freePorts = settingArguments(freeListens);
    const server = new LongCommand(t, ['serve', '--demo', '--data-dir', directory, ...freePorts]);
    await server.line((line) => line.includes('"msg":"ready"'));
    const nowhere = join(directory, 'nowhere');
    const before = await registered(directory);
    const args = ['demo', '--json', '--data-dir', directory, '--pictures', nowhere];
    const { exitCode, stdout, stderr } = await runCli(args);
    assert.equal(exitCode, 0, stdout + stderr);
    const told = stdout.trimEnd().split('\n');
    const objects = told.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(await registered(directory), before, 'nothing is left behind');
    assert.deepEqual(objects[0], { chapter: 'The stage' });
    assert.match(String(objects[1]?.['what']), new RegExp(`process ${server.pid} runs`));
    const outcomes = objects.flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome as object]));
    const [woken, awake] = outcomes as { status: string; already_online: boolean; woke_after_ms: number }[];
    assert.deepEqual([woken?.status, woken?.already_online], ['completed', false]);
    assert.ok((woken?.woke_after_ms ?? 0) >= 300, 'the controller of the demo boots for 300 ms');
    assert.deepEqual([awake?.status, awake?.already_online], ['completed', true]);
    const pictures = objects.flatMap(({ pictures: told }) => (told === undefined ? [] : [told as Pictures]));
    assert.deepEqual(
      pictures.map(({ count, width, height }) => [count, width, height]),
      [
        [15, 74, 100],
        [15, 160, 100],
      ],
    );
    const unsaved = objects.find(({ what }) => String(what).startsWith('pictures not saved'));
    assert.match(String(unsaved?.['what']), /ENOENT.*--pictures/, 'and the story goes on');
    type Told = { readonly seq: number; readonly type: string };
    const events = objects.flatMap(({ event }) => (event === undefined ? [] : [event as Told]));
    // That the device was added may have been told before the story began.
    assert.equal(events.filter(({ type }) => !type.startsWith('device.registry.')).length, 19);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => (events[0]?.seq ?? 0) + i),
    );
    assert.equal(await server.stop('SIGTERM'), 0);
  },
);

test('without the package that decodes, the demo says why its call has no pictures, and goes on', async (t) => {
  const directory = temporaryDirectory(t);
  const args = ['demo', '--data-dir', join(directory, 'data'), '--pictures', directory];
  const { exitCode, stdout, stderr } = await runCli(args, withoutNodeAv);
  assert.equal(exitCode, 0, stdout + stderr);
  assert.match(
    stdout,
    /demo +the call carries no pictures: .*node-av, which has FFmpeg, is not installed \(npm ci/,
  );
  assert.match(stdout, /told what to ask the phone for: audio alaw at 8000 Hz/);
  assert.match(stdout, /device leg +closed with 1000 ended/);
  assert.match(stdout, /demo +the story went as it should/);
});
