/** `reveille simulate --bridge` as a process against a server: its video reaches the device as pictures. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { FrameCoder } from '../../src/tools/bridge/frame-coder.ts';
import { testFilm } from '../../src/tools/bridge/test-picture.ts';
import type { FrameHeader } from '../../src/protocol/media/frame-header.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import { issueCall, mediaUrl, type IssuedCall } from '../support/call-actions.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';
import { withoutNodeAv } from '../support/without-node-av.ts';

const engine = await openEngine();
const skip = engine.ok ? false : engine.error;

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child' });
});
after(() => server.stop());

type Said = Readonly<Record<string, unknown>>;

/** An address without a server. */
function bridgeArgs(...more: string[]): string[] {
  const access = ['--media', mediaUrl(server), '--key', testBridgeKeys.own];
  return ['simulate', '--bridge', '--json', '--data-dir', '/nonexistent/reveille', ...access, ...more];
}

function startBridge(t: Ending, ...more: string[]): LongCommand {
  return new LongCommand(t, bridgeArgs(...more));
}

async function nextEvent(bridge: LongCommand, event: string): Promise<Said> {
  const line = await bridge.line((text) => (JSON.parse(text) as Said)['event'] === event);
  return JSON.parse(line) as Said;
}

/** A device that has accepted, with its received frames. */
async function joinCall({ token }: IssuedCall) {
  const headers: FrameHeader[] = [];
  const sizes: string[] = [];
  const waiting: (() => void)[] = [];
  const device = await DeviceLeg.connect({
    url: mediaUrl(server),
    token,
    onFrame: (header, payload) => {
      headers.push(header);
      const size = header.kind === 'video' ? jpegSize(payload) : null;
      if (size !== null) sizes.push(`${size.width}x${size.height}`);
      for (const look of waiting) look();
    },
  });
  device.accept();
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => void (isThere() && resolve());
      waiting.push(look);
      look();
    });
  return { device, headers, sizes, until };
}

/** The path of a second of H.264. */
function writeFilm(directory: string): string {
  assert.ok(engine.ok);
  const coder = new FrameCoder(engine.value, 'h264', 25);
  const size = { width: 640, height: 360 };
  const pictures = testFilm();
  const frames = Array.from({ length: 25 }, (_, number) =>
    coder.code(pictures.pictureAt(0, size), size, number === 0),
  );
  coder.close();
  const path = join(directory, 'film.h264');
  writeFileSync(path, Buffer.concat(frames.map((frame) => frame?.payload ?? new Uint8Array())));
  return path;
}

let rooms = 0;
function issue(change: object = {}): Promise<IssuedCall> {
  rooms += 1;
  return issueCall(server, { msg_room_id: `bridge-room-${rooms}`, ...change });
}

test(
  'H.264 of the test picture reaches a device as fitted JPEGs with a tone, and a summary is printed',
  { skip },
  async (t) => {
    const bridge = startBridge(t);
    await nextEvent(bridge, 'connected');
    const { device, headers, sizes, until } = await joinCall(await issue());
    await until(() => sizes.length >= 10 && headers.some(({ kind }) => kind === 'audio'));
    assert.deepEqual([...new Set(sizes)], ['132x100'], '320x240 in a screen of 160x100');
    assert.deepEqual((await nextEvent(bridge, 'playing'))['format'], 'h264');
    device.hangup();
    await nextEvent(bridge, 'call_over');
    assert.equal(await bridge.stop('SIGINT'), 0);
    const summary = JSON.parse(bridge.lines.at(-1) ?? '') as Said;
    const { sent } = summary['bridge'] as { sent: Said };
    assert.deepEqual([summary['event'], summary['calls'], sent['size']], ['summary', 1, '320x240']);
    assert.ok(Number(sent['frames']) >= 10 && Number(sent['key_frames']) >= 1);
    assert.ok(Number(sent['audio_packets']) >= 1);
  },
);

test(
  'a film is played in the requested size, and an invalid file is refused before any call',
  { skip },
  async (t) => {
    const directory = temporaryDirectory(t);
    const film = ['--film', writeFilm(directory), '--size', '240x320', '--duration', '60'];
    const bridge = startBridge(t, ...film);
    await nextEvent(bridge, 'connected');
    const { device, sizes, until } = await joinCall(await issue());
    await until(() => sizes.length > 3);
    assert.deepEqual([...new Set(sizes)], ['74x100']);
    assert.equal((await nextEvent(bridge, 'playing'))['frames_per_second'], 15);
    device.hangup();
    assert.equal(await bridge.stop('SIGINT'), 0);
    const letter = join(directory, 'letter.txt');
    writeFileSync(letter, 'Dear Sir or Madam');
    const { exitCode, stderr } = await runCli(bridgeArgs('--film', letter));
    assert.equal(exitCode, 1);
    assert.match(stderr, /letter\.txt cannot be played: .*"advice"/);
  },
);

test('an invalid key, and an unreachable listener, are reported with advice', async () => {
  const args = (media: string): string[] => ['simulate', '--bridge', '--media', media, '--key', 'guess'];
  const wrong = await runCli(args(mediaUrl(server)));
  assert.equal(wrong.exitCode, 1);
  assert.match(wrong.stderr, /refused the leg: 401 .*\n {2}make one: .*bridge add/);
  const nobody = await runCli(args('127.0.0.1:1'));
  assert.equal(nobody.exitCode, 1);
  assert.match(nobody.stderr, /no media listener answers: nothing listens there.*\n {2}name it with --media/);
});

test('without the codec package it reports that calls have sound only', async () => {
  const args = ['simulate', '--bridge', '--key', 'k', '--media', '127.0.0.1:1'];
  const { exitCode, stderr } = await runCli(args, withoutNodeAv);
  assert.equal(exitCode, 1);
  assert.match(
    stderr,
    /node-av \(FFmpeg\) is not installed; run npm ci: calls have audio only\n.*no media listener/s,
  );
});
