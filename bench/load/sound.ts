/** Figure: sound that a core converts by the usual pairs of formats, against FFmpeg as a program. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine, type Engine } from '../../src/media/codec/engine.ts';
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import type { SoundShape } from '../../src/model/media/sound.ts';
import { opusFile } from '../../test/support/ogg.ts';
import { timeFfmpegRun } from '../peers/ffmpeg.ts';
import { nameOfPair, soundPairs, speechPackets, type SoundPair } from '../support/speech.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { interleave } from './rounds.ts';
import { ratio, Samples } from './samples.ts';
import { Trouble } from './trouble.ts';

/** Debian's FFmpeg has no encoder of AMR, and is not asked for it. */
const pairs = soundPairs.filter(({ to }) => to.format !== 'amr');
const contenders = ['Reveille', 'ffmpeg'] as const;
type Contender = (typeof contenders)[number];

export async function measureSound({ runs, sound: { seconds } }: Plan): Promise<Figure> {
  const opened = await openEngine();
  if (!opened.ok) throw new Error(opened.error);
  const directory = mkdtempSync(join(tmpdir(), 'reveille-sound-'));
  const [samples, trouble] = [new Samples(), new Trouble()];
  try {
    for (const pair of pairs) {
      const packets = speechPackets(opened.value, pair.from, seconds * 50);
      const path = join(directory, 'source');
      writeFileSync(
        path,
        pair.from.format === 'opus' ? opusFile(packets, pair.from.channels) : Buffer.concat(packets),
      );
      await interleave(contenders, runs, async (contender) => {
        const cpuSeconds =
          contender === 'ffmpeg'
            ? await runFfmpeg(path, pair)
            : runOurs(opened.value, pair, packets, trouble);
        samples.add(serverOf(pair, contender), { cpuMs: (cpuSeconds * 1000) / seconds });
      });
    }
    const targets = pairs.map((pair) => ({
      what: `${nameOfPair(pair)}: Reveille / ffmpeg, CPU`,
      measured: samples.compare('cpuMs', serverOf(pair, 'Reveille'), serverOf(pair, 'ffmpeg'), ratio),
      bound: null,
      digits: 2,
    }));
    return {
      name: 'sound',
      title: 'Sound a core converts',
      notes: notes(seconds),
      columns,
      samples,
      targets,
      trouble: trouble.list,
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const columns = [{ metric: 'cpuMs', title: 'CPU ms per second of sound', digits: 2 }];

function notes(seconds: number): string[] {
  return [
    `${seconds} s of a made-up voice, in packets of 20 ms; Opus at our own bit rates on both sides.`,
    'Ours: one transcoder on one thread, behind a warm-up of 10 s of sound; the way to a worker and back is not in it ' +
      '(`npm run bench -- sound` has it). ffmpeg: -threads 1, the program from its start to its end.',
  ];
}

function serverOf(pair: SoundPair, contender: Contender): string {
  return `${nameOfPair(pair)}: ${contender}`;
}

const warmUpPackets = 500;

/** CPU seconds of the process. */
function runOurs(
  engine: Engine,
  { from, to }: SoundPair,
  packets: readonly Uint8Array<ArrayBuffer>[],
  trouble: Trouble,
): number {
  const transcoder = new PacketTranscoder(engine);
  let made = 0;
  const take = (payload: Uint8Array<ArrayBuffer>, index: number): void => {
    const packet = { format: from.format, timestampMs: index * 20, payload };
    made += transcoder.take(packet, from, [to]).packets[0]?.length ?? 0;
  };
  for (const [index, payload] of packets.slice(0, warmUpPackets).entries()) take(payload, index);
  made = 0;
  const before = process.cpuUsage();
  for (const [index, payload] of packets.entries()) take(payload, warmUpPackets + index);
  const { user, system } = process.cpuUsage(before);
  transcoder.close();
  if (made !== packets.length)
    trouble.add(`${nameOfPair({ from, to })}: ${made} packets of ${packets.length}`);
  return (user + system) / 1e6;
}

async function runFfmpeg(path: string, { from, to }: SoundPair): Promise<number> {
  const bitRate = String((to.rate === 48_000 ? 32_000 : 24_000) * to.channels);
  const coding =
    to.format === 'opus'
      ? ['-c:a', 'libopus', '-application', 'voip', '-b:a', bitRate, '-f', 'ogg']
      : ['-f', rawName(to)];
  const input = from.format === 'opus' ? ['-f', 'ogg'] : ['-f', rawName(from), ...shapeOf(from)];
  const args = ['-nostdin', '-v', 'error', '-y', '-threads', '1', ...input, '-i', path];
  const { cpuSeconds } = await timeFfmpegRun([
    ...args,
    '-threads',
    '1',
    ...shapeOf(to),
    ...coding,
    '/dev/null',
  ]);
  return cpuSeconds;
}

function rawName({ format }: SoundShape): string {
  return format === 'pcm' ? 's16le' : format;
}

function shapeOf({ rate, channels }: SoundShape): string[] {
  return ['-ar', String(rate), '-ac', String(channels)];
}
