/**
 * Holds calls at a real server, some with sound and some by WebRTC, while a fuzzer is at the codec, and looks for leaks. In the end a
 * canary: the same looks must find a media process that leaks a little. The seed repeats the choices, not the instants.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import type { CodecFuzzReport } from '../support/codec-fuzz.ts';
import type { Ending } from '../support/temporary-store.ts';
import type { MediaLook } from './media/carrier.ts';
import { soakMedia, type SoakReport } from './media/run.ts';
import { readNumbers } from './plan-options.ts';

/** In less time, the delay of the collectors is as much as a leak. */
const secondsMin = 30;
/** The canary's time, a share of the whole; long enough for its large leaks to show. */
const canarySecondsMax = 20;
const canaryShare = 1 / 3;
/** Films, code and what the collectors are late by. */
const fuzzGrownMiBMax = 128;

/** By the canary; what it does not lose is counted by the same lines. */
const leakedKinds: readonly (keyof MediaLook)[] = ['frames', 'resamplers', 'peers', 'timers', 'descriptors'];

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const usual = { seconds: 600, calls: 20, seed: Date.now() % 1_000_000 };
  const { seconds, calls, seed } = readNumbers(args, usual);
  if (seconds < secondsMin || calls < 1) throw new Error(`at least ${secondsMin} seconds and one call`);
  const opened = await openEngine();
  if (!opened.ok) throw new Error(opened.error);
  const engine = opened.value;
  const canarySeconds = Math.min(canarySecondsMax, Math.floor(seconds * canaryShare));
  const wholeSeconds = Math.floor(seconds - canarySeconds);
  console.log(`${calls} calls for ${wholeSeconds} s and a canary for ${canarySeconds} s, seed ${seed}`);
  const [soaked, fuzzed] = await Promise.all([
    soakMedia(t, { engine, seconds: wholeSeconds, calls, seed, leaks: false }),
    fuzz(wholeSeconds, seed),
  ]);
  const canary = await soakMedia(t, { engine, seconds: canarySeconds, calls, seed, leaks: true });
  console.log(JSON.stringify({ soaked, fuzzed: fuzzed.report, canary }, null, 2));
  return [...soaked.complaints, ...fuzzed.complaints, ...missedIn(canary)];
}

async function fuzz(
  seconds: number,
  seed: number,
): Promise<{ report: CodecFuzzReport | null; complaints: string[] }> {
  const file = fileURLToPath(moduleBeside('./media/fuzz-process', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, file, String(seconds), String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) return { report: null, complaints: [`the fuzzer ended with ${String(signal ?? code)}`] };
  const report: CodecFuzzReport = JSON.parse(said);
  const { first, last } = report.residentBytes;
  const grownMiB = (last - first) / 1024 / 1024;
  const isFlat = grownMiB <= fuzzGrownMiBMax;
  return { report, complaints: isFlat ? [] : [`the fuzzed process grew by ${grownMiB.toFixed(0)} MiB`] };
}

/** The leaks of the canary that no look found. */
function missedIn({ complaints: found }: SoakReport): string[] {
  const outlived = leakedKinds.map((kind) => `${kind} outlived their calls`);
  return [...outlived, 'memory grew']
    .filter((words) => !found.some((complaint) => complaint.includes(words)))
    .map((words) => `the canary leaked, and no look found that ${words}`);
}
