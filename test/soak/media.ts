/**
 * Holds calls at a real server, some with audio and some with WebRTC, while a fuzzer runs the codec, and checks for leaks. Ends
 * with a canary: the same checks must detect a media process with small leaks. The seed repeats the choices, not the timing.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import type { CodecFuzzReport } from '../support/codec-fuzz.ts';
import type { Ending } from '../support/temporary-store.ts';
import type { MediaCounts } from './media/carrier.ts';
import { soakMedia, type SoakReport } from './media/run.ts';
import { readNumbers } from './plan-options.ts';

/** In a shorter run, garbage not yet collected looks like a leak. */
const secondsMin = 30;
/** Maximum duration of the canary; enough for its large leaks to show. */
const canarySecondsMax = 20;
const canaryShare = 1 / 3;
/** Allows for films, code and garbage not yet collected. */
const fuzzGrownMiBMax = 128;

/** Kinds that the canary leaks; the others are counted by the same code. */
const leakedKinds: readonly (keyof MediaCounts)[] = [
  'frames',
  'resamplers',
  'peers',
  'timers',
  'descriptors',
];

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
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) return { report: null, complaints: [`the fuzzer ended with ${String(signal ?? code)}`] };
  const report: CodecFuzzReport = JSON.parse(output);
  const { first, last } = report.residentBytes;
  const grownMiB = (last - first) / 1024 / 1024;
  const isFlat = grownMiB <= fuzzGrownMiBMax;
  return { report, complaints: isFlat ? [] : [`the fuzzed process grew by ${grownMiB.toFixed(0)} MiB`] };
}

function missedIn({ complaints: found }: SoakReport): string[] {
  const outlived = leakedKinds.map((kind) => `${kind} outlived their calls`);
  return [...outlived, 'memory grew']
    .filter((words) => !found.some((complaint) => complaint.includes(words)))
    .map((words) => `the canary leaked, but no check found that ${words}`);
}
