/**
 * Nothing of a call is recorded: neither during a watched call with video and sound in both directions, nor afterwards, does a file of the
 * server contain any of it. Source: docs/media.md, What is kept of a call.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import type { VideoFrameFormat } from '../../src/model/media/picture.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { issueCall, openCallPage } from '../support/call-actions.ts';
import { h264Film, jpegFilm } from '../support/coded-frames.ts';
import { engineTest } from '../support/engine-test.ts';
import { openMediaScene, seesFrames, type MediaScene } from '../support/media-process-scene.ts';
import { PictureStream } from '../support/picture-stream.ts';
import { mediaChild } from '../support/server-process.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { testBridgeKeys } from '../support/test-server.ts';

const accessMode = 0o3;

/** Readable paths of the regular files that the process has open for writing, including removed ones. */
function filesOpenToWrite(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .filter((descriptor) => isWritten(pid, descriptor))
    .map((descriptor) => `/proc/${pid}/fd/${descriptor}`);
}

function isWritten(pid: number, descriptor: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8'))?.[1];
    const isWritable = (Number.parseInt(flags ?? '', 8) & accessMode) !== 0;
    return isWritable && statSync(`/proc/${pid}/fd/${descriptor}`).isFile();
  } catch {
    // Closed meanwhile.
    return false;
  }
}

/** Regular files below the folder. */
function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Files that contain one of the marks. */
function filesWith(files: readonly string[], marks: readonly Buffer[]): string[] {
  return files.filter((file) => {
    const content = readFileSync(file);
    return marks.some((mark) => content.includes(mark));
  });
}

/** Bytes that the process has written to storage. */
function storageBytes(pid: number): number {
  const bytes = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1];
  if (bytes === undefined) throw new Error('/proc tells no bytes written');
  return Number(bytes);
}

const size = { width: 320, height: 240 };
const frames = 20;
const canLook = process.platform === 'linux';

/** Mark in every frame and packet, which is found wherever it is written. */
const mark = randomBytes(24).toString('hex');

engineTest(
  'no file contains anything of a call, neither during the call nor afterwards',
  async (engine, context) => {
    if (!canLook) return context.skip('what processes write is looked at in /proc');
    const t = lastFirst(context);
    const temporary = temporaryDirectory(t);
    const scene = await openMediaScene(t, [], { TMPDIR: temporary, HOME: temporary });
    const { command } = scene.server;
    const { pid } = await mediaChild(scene.server);
    assert.ok(command.pid !== undefined);
    const dump = readFileSync(`/proc/${pid}/coredump_filter`, 'utf8');
    assert.equal(Number.parseInt(dump, 16), 0, 'a core dump would have no memory in it');

    const before = storageBytes(pid);
    const { jpegs, end } = await carryCall(t, scene, engine);
    assert.ok(jpegs.length >= frames);
    const marks = [Buffer.from(mark), ...jpegs.map(middleOf)];
    const directories = [scene.directory, temporary];
    const filesNow = (): string[] => directories.flatMap((directory) => filesIn(directory));
    assert.deepEqual(filesOpenToWrite(pid), [], 'the media process has no file to write to');
    const open = filesOpenToWrite(command.pid);
    assert.ok(open.length > 0, 'the server has its store open');
    assert.deepEqual(filesWith([...open, ...filesNow()], marks), []);
    // A file system in memory counts none.
    assert.equal(storageBytes(pid) - before, 0, 'nor has it written elsewhere');

    await end();
    assert.equal(await command.stop('SIGTERM'), 0);
    assert.ok(filesNow().length > 0);
    assert.deepEqual(filesWith(filesNow(), marks), []);
    const printed = command.lines.join('\n') + command.stderr;
    assert.ok(printed.includes('"msg":"ready"') && !printed.includes(mark));

    for (const found of [marks[0], marks.at(-1)].map((each) => each ?? assert.fail())) {
      writeFileSync(join(temporary, 'recording'), Buffer.concat([randomBytes(70_000), found]));
      assert.deepEqual(filesWith(filesNow(), marks), [join(temporary, 'recording')], 'a recording is found');
      rmSync(join(temporary, 'recording'));
    }
  },
);

if (canLook)
  engineTest('a removed file is read as long as it is open', (_engine, t) => {
    const file = join(temporaryDirectory(t), 'hidden');
    const descriptor = openSync(file, 'w+');
    t.after(() => closeSync(descriptor));
    rmSync(file);
    writeSync(descriptor, `recorded ${mark}`);
    const found = filesWith(filesOpenToWrite(process.pid), [Buffer.from(mark)]);
    assert.deepEqual(found, [`/proc/${process.pid}/fd/${descriptor}`]);
  });

interface CarriedCall {
  /** Frames received by the device and the viewer. */
  readonly jpegs: readonly Buffer[];
  readonly end: () => Promise<void>;
}

/** Resolves when frames and packets have reached both ends and the viewer. */
async function carryCall(t: Ending, scene: MediaScene, engine: Engine): Promise<CarriedCall> {
  const { url } = scene;
  const { token, session } = await issueCall(scene);
  const jpegs: Buffer[] = [];
  const device = await DeviceLeg.connect({
    url,
    token,
    onFrame: ({ kind }, payload) => kind === 'video' && jpegs.push(Buffer.from(payload)),
  });
  const bridge = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session });
  for (const leg of [device, bridge]) t.after(async () => void (await leg.terminate()));
  await bridge.next('start');
  bridge.report('connected');
  const stream = await watchSource(t, scene, session);
  const film = h264Film(engine, size, frames).map(({ payload }) => withMarkedSei(payload));
  const [jpeg = Buffer.alloc(0)] = jpegFilm(engine, size, 1).map(({ payload }) => withMarkedComment(payload));
  for (const [index, payload] of film.entries()) {
    const [came, watched] = [device.counts.videoFrames + 1, stream.pictures.length + 1];
    bridge.frame(videoOf('h264', payload, index, index === 0));
    bridge.frame(soundOf(index));
    device.frame(videoOf('mjpeg', jpeg, index, true));
    device.frame(soundOf(index));
    await seesFrames(device, came);
    await stream.picturesCome(watched);
  }
  while (bridge.counts.videoFrames < frames || bridge.counts.audioPackets < frames) await pause(5);
  while (device.counts.audioPackets < frames) await pause(5);
  const end = async (): Promise<void> => {
    device.hangup();
    await Promise.all([bridge.closed, device.closed, stream.closed]);
  };
  return { jpegs: [...jpegs, ...stream.pictures], end };
}

async function watchSource(
  t: Ending,
  { server, directory }: MediaScene,
  session: string,
): Promise<PictureStream> {
  const ops = new OpsClient(`http://127.0.0.1:${server.ports.ops}`, findOpsToken(directory) ?? '');
  const { url } = await ops.change<{ readonly url: string }>('/v1/calls/watch', { session });
  const headers = { Authorization: `Bearer ${await openCallPage(url)}` };
  const links = await (await fetch(new URL('/watch/links', url), { method: 'POST', headers })).json();
  const { search } = new URL((links as { readonly source: string }).source);
  const stream = await PictureStream.open(server.ports.media, { query: search, bearer: null });
  t.after(() => stream.hangUp());
  return stream;
}

function videoOf(format: VideoFrameFormat, payload: Uint8Array, index: number, isKeyFrame: boolean): Buffer {
  const header = { kind: 'video', format, isKeyFrame, ...size, timestampMs: index * 100 } as const;
  return Buffer.concat([encodeFrameHeader(header), payload]);
}

/** 20 ms of 16 kHz. */
function soundOf(index: number): Buffer {
  const header = { kind: 'audio', format: 'pcm', isKeyFrame: false, width: 0, height: 0 } as const;
  const bytes = encodeFrameHeader({ ...header, timestampMs: index * 20 });
  return Buffer.concat([bytes, Buffer.alloc(640, mark)]);
}

/** A picture after a supplemental NAL unit with user data. */
function withMarkedSei(accessUnit: Uint8Array): Buffer {
  const text = Buffer.concat([Buffer.alloc(16, 0x7e), Buffer.from(mark)]);
  const sei = Buffer.concat([Buffer.from([0, 0, 0, 1, 6, 5, text.length]), text, Buffer.from([0x80])]);
  return Buffer.concat([sei, accessUnit]);
}

function withMarkedComment(jpeg: Uint8Array): Buffer {
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, mark.length + 2]), Buffer.from(mark)]);
  return Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]);
}

/** Enough of a picture to recognize it. */
function middleOf(jpeg: Buffer): Buffer {
  const middle = Math.floor(jpeg.length / 2);
  return jpeg.subarray(middle, middle + 32);
}
