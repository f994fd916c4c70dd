import assert from 'node:assert/strict';
import type { Engine } from '../../../../src/media/codec/engine.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { PacketTranscoder } from '../../../../src/media/codec/packet-transcoder.ts';
import { parseAmr } from '../../../../src/media/sound/amr-frames.ts';
import type { SampleShape, SoundPacket, SoundResult, SoundShape } from '../../../../src/model/media/sound.ts';
import { amrFixture } from '../../../support/amr-files.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { channelOf, findTone, sine } from '../../../support/sines.ts';

const tone = 1000;
const narrow = { rate: 8000, channels: 1 };
const wide = { rate: 16_000, channels: 1 };
const pcmNarrow: SoundShape = { format: 'pcm', ...narrow };
const opusWide: SoundShape = { format: 'opus', ...wide };

/** 20 ms of a sine in PCM. */
function pcm(index: number, { rate, channels }: SampleShape = narrow): SoundPacket {
  const chords = [[tone], [tone / 2]].slice(0, channels);
  const samples = sine({ rate, chords }, index * 20, 20);
  return { format: 'pcm', timestampMs: index * 20, payload: new Uint8Array(samples.buffer) };
}

/** Calls `run` with a transcoder and closes it; no native object may be left. */
function soundTest(name: string, run: (transcoder: PacketTranscoder, engine: Engine) => void): void {
  engineTest(name, (engine) => {
    const before = liveNatives();
    const transcoder = new PacketTranscoder(engine);
    try {
      run(transcoder, engine);
    } finally {
      transcoder.close();
    }
    assert.deepEqual(liveNatives(), before);
  });
}

function samplesOf(results: readonly SoundResult[], target = 0): Int16Array {
  const packets = results.flatMap((result) => result.packets[target] ?? []);
  return Int16Array.from(packets.flatMap(({ payload }) => Array.from(new Int16Array(payload.buffer))));
}

function times(results: readonly SoundResult[]): number[] {
  return results.flatMap(({ packets }) => packets[0] ?? []).map(({ timestampMs }) => timestampMs);
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

soundTest('every target gets its own packets of 20 ms from one packet', (transcoder) => {
  const targets: SoundShape[] = [pcmNarrow, { format: 'pcm', rate: 48_000, channels: 2 }, opusWide];

  const results = range(50).map((index) => transcoder.transcode(pcm(index, wide), wide, targets));

  assert.deepEqual(
    times(results),
    range(50).map((index) => index * 20),
  );
  const { level, snr } = findTone(samplesOf(results, 0).subarray(800), 8000, tone);
  assert.ok(Math.abs(level - 0.25) < 0.002 && snr > 70, `${level} ${snr}`);
  const left = channelOf(samplesOf(results, 1), 0, 2);
  assert.deepEqual(left, channelOf(samplesOf(results, 1), 1, 2));
  assert.equal(left.length, 50 * 960);
  assert.ok(results.every(({ packets }) => packets[2]?.length === 1));
});

soundTest(
  'narrow-band AMR mixes two channels, and makes a frame of the highest kind every 20 ms',
  (transcoder) => {
    const stereo = { rate: 16_000, channels: 2 };
    const target: SoundShape = { format: 'amr', rate: 8000, channels: 2 };

    const results = range(5).map((index) => transcoder.transcode(pcm(index, stereo), stereo, [target]));

    assert.deepEqual(times(results), [0, 20, 40, 60, 80]);
    const frames = results.map(({ packets }) => packets[0]?.[0]?.payload ?? assert.fail());
    assert.deepEqual(
      frames.map((frame) => parseAmr(frame, 'wide')),
      frames.map((frame) => ({ band: 'narrow', frames: [frame] })),
    );
    assert.ok(frames.every((frame) => frame.length === 32));
  },
);

soundTest('packets of any length become packets of 20 ms, and a gap becomes silence', (transcoder) => {
  const sends = (timestampMs: number, lengthMs: number): SoundResult => {
    const samples = sine({ rate: 8000, chords: [[tone]] }, timestampMs, lengthMs);
    const packet = { format: 'pcm', timestampMs, payload: new Uint8Array(samples.buffer) } as const;
    return transcoder.transcode(packet, narrow, [pcmNarrow]);
  };

  const results = [sends(0, 10), sends(10, 60), sends(70, 30), sends(180, 40)];

  assert.deepEqual(
    results.map(({ packets }) => packets[0]?.length),
    [0, 3, 2, 6],
  );
  assert.deepEqual(
    times(results),
    range(11).map((index) => index * 20),
  );
  const samples = samplesOf(results);
  assert.deepEqual(samples.subarray(0, 800), sine({ rate: 8000, chords: [[tone]] }, 0, 100));
  assert.ok(samples.subarray(800, 1440).every((sample) => sample === 0));
  assert.deepEqual(samples.subarray(1440), sine({ rate: 8000, chords: [[tone]] }, 180, 40));
});

soundTest('a packet out of order is skipped, and none is undecodable because of it', (transcoder) => {
  const results = [0, 1, 3, 2, 4].map((index) => transcoder.transcode(pcm(index), narrow, [pcmNarrow]));

  assert.deepEqual(
    results.map(({ packets, drop }) => [packets[0]?.length, drop]),
    [
      [1, null],
      [1, null],
      [2, null],
      [0, null],
      [1, null],
    ],
  );
});

soundTest('a source that changes its format or its rate gets a new decoder', (transcoder) => {
  const opus = new Map(
    range(4).map((index) => [
      index,
      transcoder.transcode(pcm(index), narrow, [opusWide]).packets[0]?.[0]?.payload,
    ]),
  );
  const alaw: SoundPacket = { format: 'alaw', timestampMs: 80, payload: new Uint8Array(160).fill(0xd5) };

  const results = [
    transcoder.transcode(alaw, narrow, [pcmNarrow]),
    transcoder.transcode({ ...alaw, timestampMs: 100, payload: new Uint8Array(320) }, wide, [pcmNarrow]),
    transcoder.transcode(
      { format: 'opus', timestampMs: 120, payload: opus.get(0) ?? assert.fail() },
      narrow,
      [pcmNarrow],
    ),
    transcoder.transcode({ format: 'opus', timestampMs: 140, payload: opus.get(1) ?? assert.fail() }, wide, [
      pcmNarrow,
    ]),
  ];

  assert.deepEqual(
    results.map(({ rebuilds }) => rebuilds),
    [1, 1, 1, 0],
  );
  assert.deepEqual(times(results), [80, 100, 120, 140]);
});

soundTest('a target that cannot be encoded has no packets, and the others have theirs', (transcoder) => {
  const amr: SoundShape = { format: 'amr', ...wide };
  const odd: SoundShape = { format: 'pcm', rate: 44_100, channels: 1 };

  const { packets, drop } = transcoder.transcode(pcm(0), narrow, [amr, pcmNarrow, odd]);

  assert.equal(drop, 'rebuild_failed');
  assert.deepEqual(
    packets.map((made) => made.length),
    [0, 1, 0],
  );
  assert.equal(transcoder.transcode(pcm(1), narrow, [pcmNarrow]).drop, null);
});

soundTest(
  'a packet that is broken, too long or of unknown shape is dropped, and later ones are decoded',
  (transcoder) => {
    const broken: [SoundPacket['format'], number, SampleShape][] = [
      ['pcm', 0, narrow],
      ['pcm', 321, narrow],
      ['pcm', 322, { rate: 8000, channels: 2 }],
      ['pcm', 320, { rate: 8000, channels: 3 }],
      ['pcm', 320, { rate: 44_100, channels: 1 }],
      ['alaw', 4001, narrow],
      ['amr', 33, narrow],
      ['opus', 2000, narrow],
    ];
    for (const [format, length, assumed] of broken) {
      const packet = { format, timestampMs: 0, payload: new Uint8Array(length).fill(0xff) };
      const { packets, drop } = transcoder.transcode(packet, assumed, [pcmNarrow]);
      assert.deepEqual([packets, drop], [[], 'undecodable'], `${format} of ${length} bytes`);
    }
    assert.equal(transcoder.transcode(pcm(0), narrow, [pcmNarrow]).packets[0]?.length, 1);
  },
);

soundTest(
  'targets that are no longer requested are freed, and rebuilt when they are requested again',
  (transcoder) => {
    transcoder.transcode(pcm(0, wide), wide, [pcmNarrow, opusWide]);
    const both = liveNatives();
    transcoder.transcode(pcm(1, wide), wide, [pcmNarrow]);
    assert.ok(liveNatives().codecContexts < both.codecContexts);
    transcoder.transcode(pcm(2, wide), wide, [opusWide, pcmNarrow]);
    assert.deepEqual(liveNatives(), both);
  },
);

soundTest(
  'AMR sends noise and empty frames between words, which are silence and not broken',
  (transcoder) => {
    const frames = amrFixture('narrow');

    const results = frames.map((payload, index) => {
      const packet: SoundPacket = { format: 'amr', timestampMs: index * 20, payload };
      return transcoder.transcode(packet, narrow, [pcmNarrow]);
    });

    assert.ok(results.every(({ drop }) => drop === null));
    assert.deepEqual(
      times(results),
      range(frames.length).map((index) => index * 20),
    );
    assert.ok(samplesOf(results.slice(-20)).every((sample) => sample === 0));
  },
);
