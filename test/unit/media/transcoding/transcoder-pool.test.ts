import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { threadCheckMs } from '../../../../src/media/transcoding/task-watch.ts';
import {
  loadWindowMs,
  transcodersPerWorkerMax,
  workersStopMsMax,
  workerSilenceMsMax,
} from '../../../../src/model/limits.ts';
import { deferred } from '../../../../src/lib/deferred.ts';
import { fail, succeed } from '../../../../src/lib/result.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import {
  abandonedWorkersMax,
  elapsedPerTaskTime,
  taskTimeMsMax,
} from '../../../../src/model/media/decoding-limits.ts';
import type { SoundTranscoder } from '../../../../src/media/transcoding/transcoder-session.ts';
import type { MediaCapacity } from '../../../../src/model/media/media-capacity.ts';
import { soundEncodings, type SoundResult } from '../../../../src/model/media/sound.ts';
import { soundShareFirst } from '../../../../src/model/media/sound-limits.ts';
import {
  lostFrame,
  lostSound,
  overdueFrame,
  overdueSound,
} from '../../../../src/media/transcoding/transcoder-task.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { gateFailsVariable } from '../../../support/gate.ts';
import { noEngineVariable, scriptedFrame, type FrameScript } from '../../../support/frame-script.ts';
import {
  transcodeHeld,
  transcode,
  tenth,
  textOf,
  TranscoderScene,
} from '../../../support/transcoder-scene.ts';
import { describeFrame } from '../../../../src/media/geometry/source-frame.ts';

const mono = { rate: 8000, channels: 1 };
const nothingNative = { packets: 0, frames: 0, codecContexts: 0, graphs: 0, resamplers: 0, inputs: 0 };
const tiny = { request: { width: 1, height: 1 }, maxFps: 1 };

let scene: TranscoderScene;

beforeEach(() => {
  scene = new TranscoderScene();
});

afterEach(async () => {
  delete process.env[gateFailsVariable];
  delete process.env[noEngineVariable];
  await scene.close();
});

function refusal(need = tenth): string | null {
  const opened = scene.pool.open(need);
  if (opened.ok) opened.value.close();
  return opened.ok ? null : opened.error;
}

function capacity(): Pick<MediaCapacity, 'workers' | 'soundEncoders' | 'engine'> {
  const { pool } = scene;
  return { workers: pool.workers(), soundEncoders: pool.soundEncoders, engine: pool.engine };
}

async function sessionsByThread(): Promise<(number | undefined)[]> {
  return (await scene.pool.countNatives()).map((natives) => natives?.packets);
}

test('the capacity of a pool whose engine is loading is that of idle workers, with every sound format', async () => {
  const opening = scene.open({ threads: 2 });
  const { workers, soundEncoders, engine } = capacity();
  assert.deepEqual([soundEncoders, engine], [soundEncodings, null]);
  await opening;
  assert.deepEqual(capacity(), { workers, soundEncoders: ['alaw', 'opus'], engine: 'scripted' });
});

test('a frame is transferred to its worker and its pictures return', async () => {
  await scene.open();
  const session = scene.session();
  const frame = scriptedFrame({ workMs: 3 });

  const result = await session.transcode(frame, [{ mode: 'auto', screen: null }], describeFrame(frame));

  assert.equal(scene.pool.engine, 'scripted');
  assert.equal(textOf(result), '1.1');
  assert.equal(result.workMs, 3);
  assert.deepEqual(result.source, { width: 640, height: 480 });
  assert.equal(frame.payload.buffer.byteLength, 0);
});

test('a session stays on one worker, and each new one goes where the load is least', async () => {
  await scene.open({ threads: 2 });
  const sessions = scene.sessions(5);
  for (const session of sessions) await transcode(session);
  const [first = assert.fail()] = sessions;

  assert.equal(textOf(await transcode(first)), '1.2');
  assert.deepEqual(await sessionsByThread(), [3, 2]);
});

test('the frames of the sessions of a worker are processed in order of arrival', async () => {
  await scene.open();
  const [one = assert.fail(), ...others] = scene.sessions(4);
  const done: (string | null)[] = [];
  const held = transcodeHeld(one).then((result) => done.push(textOf(result)));
  await scene.gate.untilHeld(1);
  const rounds = others.map(async (session) => {
    done.push(textOf(await transcode(session)));
    done.push(textOf(await transcode(session)));
  });
  scene.gate.order('go');

  await Promise.all([held, ...rounds]);

  assert.deepEqual(done, ['1.1', '2.1', '3.1', '4.1', '2.2', '3.2', '4.2']);
});

test('a worker returns to its event loop between frames, where collected native objects are freed', async () => {
  await scene.open();
  const session = scene.session();
  for (let frame = 0; frame < 50; frame++) await transcode(session);

  assert.ok((await transcode(session)).rebuilds > 0);
});

test('a second frame of a busy session is a programming error, and so is one after its end', async () => {
  await scene.open();
  const session = scene.session();
  const held = transcodeHeld(session);
  await scene.gate.untilHeld(1);
  await assert.rejects(transcode(session), /one task under way/);
  scene.gate.order('go');
  assert.equal(textOf(await held), '1.1');

  session.close();

  await assert.rejects(transcode(session), /none after its end/);
});

test('sessions that have sent nothing keep their reservation: one beyond the load is refused', async () => {
  await scene.open();
  const [first = assert.fail()] = scene.sessions(8);
  scene.clock.advance(60_000);

  assert.equal(scene.pool.refusalOf(tenth), 'load');
  assert.equal(refusal(), 'load');
  first.close();
  assert.equal(scene.pool.refusalOf(tenth), null);
  assert.equal(scene.pool.refusalOf(tenth), null);
  assert.equal(refusal(), null);
});

test('sessions measured below their reservation make room, and those above it do not', async () => {
  await scene.open();
  const sessions = scene.sessions(8);
  await scene.send(sessions, 3, 25);
  assert.equal(scene.pool.refusalOf(tiny), null);
  assert.equal(refusal(), 'load');

  await scene.send(sessions, 4, 25);
  assert.equal(refusal(), null);
  await scene.send(sessions, 6, 60);

  assert.equal(refusal(tiny), 'load');
});

test('a session is estimated by the cost of recent frames', async () => {
  await scene.open();
  const session = scene.session();
  const half = { request: tenth.request, maxFps: tenth.maxFps * 5 };
  assert.equal(scene.pool.refusalOf(half), null);
  for (let frame = 0; frame < 2000; frame++) await transcode(session, { workMs: 4 });
  session.close();

  assert.equal(scene.pool.refusalOf(half), 'load');
});

test('a worker without sessions accepts one that it can do alone, though above the load, and none that it cannot', async () => {
  await scene.open({ loadMax: 0.05 });

  assert.equal(scene.pool.refusalOf({ request: tenth.request, maxFps: tenth.maxFps * 11 }), 'load');
  scene.session();
  assert.equal(refusal(), 'load');
});

test('a worker has no more sessions than the limit, and one that ends makes room when its worker has freed it', async () => {
  await scene.open();
  const [first = assert.fail()] = Array.from({ length: transcodersPerWorkerMax }, () => scene.session(tiny));
  assert.equal(scene.pool.refusalOf(tiny), 'load');

  first.close();
  assert.equal(scene.pool.refusalOf(tiny), 'load');
  await scene.pool.countNatives();

  assert.equal(scene.pool.refusalOf(tiny), null);
});

test('the room of each worker is counted in calls like those carried, or like the usual one', async () => {
  await scene.open({ threads: 2 });
  const usual = { request: { width: 640, height: 480 }, maxFps: 15 };
  const [empty = assert.fail()] = scene.pool.workers();
  let fit = 0;
  for (; scene.pool.refusalOf(usual) === null; fit += 1) scene.session(usual);
  assert.equal(empty.room * 2, fit);
  assert.deepEqual(
    scene.pool.workers().map(({ room }) => room),
    [0, 0],
  );
});

test('a worker partly used by calls has room for the rest of its time', async () => {
  await scene.open();
  scene.sessions(3);
  const sounds = [soundSession(), soundSession()];
  const [worker = assert.fail()] = scene.pool.workers();
  assert.ok(Math.abs(worker.taken - 0.3 - sounds.length * soundShareFirst) < 0.001, `${worker.taken}`);
  assert.deepEqual([worker.room, worker.busy], [5, 0]);
  scene.sessions(5);
  assert.equal(refusal(), 'load');
});

test('the load of each worker is measured over the last seconds', async () => {
  await scene.open({ threads: 2 });
  const [first = assert.fail()] = scene.sessions(2);
  await scene.send([first], 10, 125);

  const [one = assert.fail(), two] = scene.pool.workers().map(({ busy }) => busy);
  assert.ok(Math.abs(one - 0.25) < 0.01, `${one}`);
  assert.equal(two, 0);
  scene.clock.advance(6000);
  assert.deepEqual(
    scene.pool.workers().map(({ busy }) => busy),
    [0, 0],
  );
});

for (const order of ['die', 'throw'] as const) {
  test(`a worker made to ${order} over a frame loses it, and the session continues with the next`, async () => {
    await scene.open();
    const session = scene.session();
    const held = transcodeHeld(session);
    await scene.gate.untilHeld(1);
    scene.gate.order(order);

    assert.deepEqual(await held, lostFrame);
    assert.match(textOf(await transcode(session)) ?? '', order === 'die' ? /^1\.1$/ : /^1\.2$/);
    assert.deepEqual(scene.errors(), [
      'transcoder: a thread or its task failed; the frames of that thread are lost',
    ]);
    assert.deepEqual(scene.wedged, []);
  });
}

test('a worker that dies loses the frames of its sessions only, is logged once, and still counts them', async () => {
  await scene.open({ threads: 2, loadMax: 0.2 });
  const [one = assert.fail(), two = assert.fail(), three = assert.fail(), four = assert.fail()] =
    scene.sessions(4);
  await transcode(two);
  const lost = [transcodeHeld(one), transcode(three)];
  await scene.gate.untilHeld(1);
  scene.gate.order('die');

  assert.deepEqual(await Promise.all(lost), [lostFrame, lostFrame]);
  assert.deepEqual(
    await Promise.all([one, two, three, four].map(async (session) => textOf(await transcode(session)))),
    ['1.1', '2.2', '3.1', '4.1'],
  );
  assert.equal(scene.errors().length, 1);
  assert.equal(refusal(), 'load');
});

test('when a worker cannot be replaced its frames are lost, sessions are refused, and the owner is notified', async () => {
  await scene.open();
  const session = scene.session();
  const held = transcodeHeld(session);
  await scene.gate.untilHeld(1);
  process.env[gateFailsVariable] = '1';
  scene.gate.order('die');

  assert.deepEqual(await held, lostFrame);
  assert.deepEqual(await transcode(session), lostFrame);
  assert.deepEqual(await transcode(session), lostFrame);
  assert.equal(refusal(), 'engine');
  scene.clock.advance(3 * threadCheckMs);
  assert.deepEqual(scene.wedged, [
    'transcoder: 1 of 1 threads hang or cannot be replaced; the media process ends',
  ]);
});

/** Checks the workers for this long; each check adds to the scripted CPU time of their threads. */
function watch(ms: number): void {
  for (let passed = 0; passed < ms; passed += threadCheckMs) scene.clock.advance(threadCheckMs);
}

function threadTime(): number {
  return scene.clock.monotonicMs();
}

test("a frame that exceeds its worker's time is overdue; other calls continue on a new worker", async () => {
  await scene.open({ threadTime });
  const [offender = assert.fail(), beside = assert.fail()] = scene.sessions(2);
  assert.equal(textOf(await transcode(beside)), '2.1');
  const [held, behind] = [transcodeHeld(offender), transcode(beside)];
  await scene.gate.untilHeld(1);
  watch(taskTimeMsMax);
  assert.deepEqual(scene.errors(), []);

  watch(threadCheckMs);

  assert.deepEqual(await held, overdueFrame);
  assert.deepEqual(await behind, lostFrame);
  assert.equal(textOf(await transcode(beside)), '2.1');
  assert.equal(textOf(await transcode(offender)), '1.1');
  assert.deepEqual(scene.wedged, []);
  assert.ok(scene.log.lines.some(({ message }) => message.includes('its thread is replaced')));
  scene.gate.order('go');
});

test("a packet of sound that exceeds its worker's time is overdue", async () => {
  await scene.open({ threadTime });
  const held = transcodeSound(soundSession(), { isHeld: true });
  await scene.gate.untilHeld(1);
  watch(taskTimeMsMax + threadCheckMs);

  assert.deepEqual(await held, overdueSound);
  scene.gate.order('go');
});

const times: readonly (readonly [string, Parameters<TranscoderScene['open']>[0], number])[] = [
  [
    'of a worker that waits for the machine until it is silent for too long',
    { threadTime: () => 0 },
    workerSilenceMsMax,
  ],
  [
    'in elapsed time, a multiple, where the system tells no CPU time',
    { threadTime: () => null },
    taskTimeMsMax * elapsedPerTaskTime,
  ],
  [
    'of a larger source by its area',
    { sourceMax: { width: 3840, height: 2160 }, threadTime },
    taskTimeMsMax * 4,
  ],
];
for (const [what, options, ms] of times)
  test(`a frame has its time ${what}, and is overdue after it`, async () => {
    await scene.open(options);
    const held = transcodeHeld(scene.session());
    await scene.gate.untilHeld(1);
    watch(ms);
    scene.gate.order('go');
    assert.equal(textOf(await held), '1.1');

    const longer = transcodeHeld(scene.session());
    await scene.gate.untilHeld(2);
    watch(ms + threadCheckMs);
    assert.deepEqual(await longer, overdueFrame);
    assert.deepEqual(scene.wedged, []);
    scene.gate.order('go');
  });

test('consecutive frames on a busy worker are not counted together', async () => {
  await scene.open({ threadTime });
  const sessions = scene.sessions(8);
  const held = sessions.map(transcodeHeld);
  for (let frame = 1; frame <= sessions.length; frame++) {
    await scene.gate.untilHeld(frame);
    watch(taskTimeMsMax / 2);
    scene.gate.order('go');
    assert.notEqual(textOf((await held[frame - 1]) ?? lostFrame), 'overdue');
  }
});

/** Keeps a new worker busy with its first frame for too long. */
async function abandonOne(number: number): Promise<void> {
  const session = scene.session();
  await transcode(session);
  const held = transcodeHeld(session);
  await scene.gate.untilHeld(number);
  watch(taskTimeMsMax + threadCheckMs);
  await held;
  session.close();
}

test('abandoned workers end with their tasks; only too many at once need a new process', async () => {
  await scene.open({ threadTime });
  for (let number = 1; number <= abandonedWorkersMax; number++) await abandonOne(number);
  assert.deepEqual(scene.wedged, []);
  scene.gate.order('go');
  while (scene.pool.abandoned > 0) await new Promise(setImmediate);

  for (let number = 1; number <= abandonedWorkersMax; number++)
    await abandonOne(abandonedWorkersMax + number);
  assert.deepEqual(scene.wedged, []);
  assert.equal(scene.pool.abandoned, abandonedWorkersMax);
  const last = scene.session();
  await transcode(last);
  const held = transcodeHeld(last);
  await scene.gate.untilHeld(2 * abandonedWorkersMax + 1);
  watch(taskTimeMsMax + 2 * threadCheckMs);

  assert.deepEqual(scene.wedged, [
    'transcoder: 1 of 1 threads hang or cannot be replaced; the media process ends',
  ]);
  assert.equal(refusal(), 'engine');
  scene.gate.order('go');
  await held;
});

test('closing does not wait for an abandoned worker', async () => {
  await scene.open({ threadTime });
  await abandonOne(1);
  await scene.pool.close();

  assert.deepEqual(scene.errors(), ['transcoder: a thread did not stop in time; it ends with its process']);
  scene.gate.order('go');
});

test('a worker that answers now and then does not hang', async () => {
  await scene.open({ threadTime: () => 0 });
  const sessions = scene.sessions(4);
  const held = sessions.map(transcodeHeld);
  for (let frame = 1; frame <= sessions.length; frame++) {
    await scene.gate.untilHeld(frame);
    watch(workerSilenceMsMax - threadCheckMs);
    scene.gate.order('go');
    await held[frame - 1];
  }

  assert.deepEqual(scene.wedged, []);
});

test('closing a session waits for its frame, and then frees its objects', async () => {
  await scene.open();
  const session = scene.session();
  const held = transcodeHeld(session);
  await scene.gate.untilHeld(1);
  session.close();
  scene.gate.order('go');

  assert.equal(textOf(await held), '1.1');
  assert.deepEqual(await sessionsByThread(), [0]);
});

test('closing waits for pending tasks, and accepts no more', async () => {
  await scene.open();
  const [one = assert.fail(), two = assert.fail()] = scene.sessions(2);
  const held = transcodeHeld(one);
  await scene.gate.untilHeld(1);
  const closed = scene.pool.close();

  assert.equal(refusal(), 'engine');
  assert.deepEqual(await transcode(two), lostFrame);
  scene.gate.order('go');
  assert.equal(textOf(await held), '1.1');
  await closed;
  assert.deepEqual(scene.errors(), []);
  assert.equal(scene.clock.pendingTimers, 0);
  one.close();
});

test('closing waits no longer than the limit for a worker that does not end', async () => {
  await scene.open();
  const held = transcodeHeld(scene.session());
  await scene.gate.untilHeld(1);
  const closed = scene.pool.close();
  scene.clock.advance(workersStopMsMax);

  await closed;

  assert.deepEqual(scene.errors(), ['transcoder: a thread did not stop in time; it ends with its process']);
  scene.gate.order('go');
  assert.equal(textOf(await held), '1.1');
});

test('without an engine every session is refused for it, and the log says once why', async () => {
  process.env[noEngineVariable] = '1';
  await scene.open({ threads: 2 });

  assert.equal(refusal(), 'engine');
  assert.equal(scene.pool.refusalOf(tenth), 'engine');
  assert.equal(scene.pool.engine, null);
  assert.deepEqual(scene.pool.workers(), []);
  assert.deepEqual(
    scene.log.lines.map(({ message }) => message),
    ['there is no engine here'],
  );
});

test('a worker that cannot be loaded is no engine either', async () => {
  process.env[gateFailsVariable] = '1';
  await scene.open();

  assert.equal(refusal(), 'engine');
  assert.match(scene.log.lines.at(-1)?.message ?? '', /transcoder: a thread did not start from file:/);
  assert.deepEqual(scene.wedged, []);
});

function transcodeSound(
  transcoder: SoundTranscoder,
  script: FrameScript = {},
  target: 'opus' | 'pcm' = 'opus',
): Promise<SoundResult> {
  const payload = new TextEncoder().encode(JSON.stringify(script));
  return transcoder.transcode({ format: 'alaw', timestampMs: 0, payload }, mono, [
    { format: target, ...mono },
  ]);
}

function soundSession(): SoundTranscoder {
  const opened = scene.pool.openSound();
  return opened.ok ? opened.value : assert.fail(opened.error);
}

test('packets of a worker that died are lost, and a new worker transcodes the next one', async () => {
  await scene.open();
  const session = soundSession();
  await transcodeSound(session);
  const lost = transcodeSound(session, { isHeld: true });
  await scene.gate.untilHeld(1);
  scene.gate.order('die');

  assert.deepEqual(await lost, lostSound);
  const { packets } = await transcodeSound(session);
  assert.equal(Buffer.from(packets[0]?.[0]?.payload ?? []).toString(), '1.1');
});

/** 20 ms of silence. */
const silences = {
  alaw: new Uint8Array(160).fill(0xd5),
  opus: new Uint8Array([0xf8, 0xff, 0xfe]),
};

function decodeSilence(transcoder: SoundTranscoder, format: keyof typeof silences): Promise<SoundResult> {
  const packet = { format, timestampMs: 7, payload: silences[format] };
  return transcoder.transcode(packet, mono, [{ format: 'pcm', ...mono }]);
}

for (const [format, sample] of [
  ['alaw', 8],
  ['opus', 0],
] as const)
  engineTest(`${format} is decoded at once, whatever the worker does`, async () => {
    await scene.open();
    const session = soundSession();
    const held = transcodeHeld(scene.session());
    await scene.gate.untilHeld(1);

    const { packets, drop } = await decodeSilence(session, format);
    session.close();
    scene.gate.order('go');
    await held;

    const payload = new Uint8Array(Int16Array.from({ length: 160 }, () => sample).buffer);
    assert.deepEqual({ packets, drop }, { packets: [[{ timestampMs: 7, payload }]], drop: null });
    assert.deepEqual(liveNatives(), nothingNative);
  });

engineTest(
  'a session that ends before its first packet is decoded leaves no decoder behind',
  async (engine) => {
    const loading = deferred();
    await scene.open({ openEngine: () => loading.promise.then(() => succeed(engine)) });
    const session = soundSession();

    const result = decodeSilence(session, 'opus');
    session.close();
    loading.resolve();

    assert.deepEqual(await result, lostSound);
    assert.deepEqual(liveNatives(), nothingNative);
  },
);

engineTest('sound whose decoder throws moves to the worker, and frees the decoder', async (engine) => {
  class FaultyContext extends engine.av.CodecContext {
    override sendPacketSync(): number {
      throw new Error('a decoder that throws');
    }
  }
  const faulty = { ...engine, av: { ...engine.av, CodecContext: FaultyContext } };
  await scene.open({ openEngine: async () => succeed(faulty) });
  const session = soundSession();
  const script = new TextEncoder().encode('{}');

  const packet = { format: 'opus', timestampMs: 7, payload: script } as const;
  const { packets } = await session.transcode(packet, mono, [{ format: 'pcm', ...mono }]);

  assert.equal(Buffer.from(packets[0]?.[0]?.payload ?? []).toString(), '1.1');
  assert.deepEqual(liveNatives(), nothingNative);
});

test('sound that the main thread has no engine for is left to the worker', async () => {
  await scene.open({ openEngine: async () => fail('there is no engine here') });

  const { packets } = await transcodeSound(soundSession(), {}, 'pcm');

  assert.equal(Buffer.from(packets[0]?.[0]?.payload ?? []).toString(), '1.1');
});

test('sound stays with its worker once a packet needed it, so that its timeline continues', async () => {
  await scene.open();
  const session = soundSession();
  await transcodeSound(session);

  const { packets } = await transcodeSound(session, {}, 'pcm');

  assert.equal(Buffer.from(packets[0]?.[0]?.payload ?? []).toString(), '1.2');
});

test('sound is admitted by its measured load, and refused without room or an engine', async () => {
  await scene.open();
  assert.deepEqual(scene.pool.soundEncoders, ['alaw', 'opus']);
  const [session] = [soundSession(), scene.sessions(8)];
  assert.equal(refusal(tenth), 'load');
  for (let second = 0; second < loadWindowMs / 1000; second++) {
    await transcodeSound(session, { workMs: 60 });
    scene.clock.advance(1000);
  }
  assert.deepEqual(scene.pool.openSound(), fail('load'));
  session.close();
  soundSession().close();

  process.env[noEngineVariable] = '1';
  const without = new TranscoderScene();
  await without.open();
  assert.deepEqual(without.pool.openSound(), fail('engine'));
  assert.deepEqual(without.pool.soundEncoders, []);
  await without.close();
});
