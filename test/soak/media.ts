/**
 * Holds calls at a real server, some with sound and some by WebRTC, while a fuzzer is at the codec beside it, and looks for
 * what leaks.
 *
 *   npm run soak:media [-- --minutes 10 | --seconds 30] [--calls 20] [--seed 1]
 *
 * In the end a canary: a media process that leaks a little has to be found out by the same looks. Exits 1 with what is wrong. The seed
 * repeats the choices, not the instants.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openEngine } from '../../src/media/codec/engine.ts';
import type { CodecFuzzReport } from '../support/codec-fuzz.ts';
import type { MediaLook } from './media-carrier.ts';
import { soakMedia, type SoakReport } from './media-run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seconds: { type: 'string' },
    calls: { type: 'string', default: '20' },
    seed: { type: 'string' },
  },
});
const seconds = Number(values.seconds ?? Number(values.minutes) * 60);
const calls = Number(values.calls);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
/** In less, what the collectors are late by is as much as a leak that is looked for. */
const secondsMin = 30;
if (!(seconds >= secondsMin) || !(calls >= 1) || !Number.isInteger(seed))
  throw new Error(`at least ${secondsMin} seconds, one call, and a seed that is a whole number`);

/** Of all the time; long enough for its leaks to show, which are large. */
const canarySecondsMax = 20;
const canaryShare = 1 / 3;
/** Films, code and what the collectors are late by. */
const fuzzGrownMiBMax = 128;

/** By the canary; what it does not lose is counted by the same lines. */
const leakedKinds: readonly (keyof MediaLook)[] = ['frames', 'resamplers', 'peers', 'timers', 'descriptors'];

const opened = await openEngine();
if (!opened.ok) throw new Error(opened.error);
const engine = opened.value;
const canarySeconds = Math.min(canarySecondsMax, Math.floor(seconds * canaryShare));
const wholeSeconds = Math.floor(seconds - canarySeconds);
console.log(`${calls} calls for ${wholeSeconds} s and a canary for ${canarySeconds} s, seed ${seed}`);

const [soaked, fuzzed] = await Promise.all([
  soakMedia({ engine, seconds: wholeSeconds, calls, seed, leaks: false }),
  fuzz(wholeSeconds),
]);
const canary = await soakMedia({ engine, seconds: canarySeconds, calls, seed, leaks: true });
console.log(JSON.stringify({ soaked, fuzzed: fuzzed.report, canary }, null, 2));
const complaints = [...soaked.complaints, ...fuzzed.complaints, ...missedIn(canary)];
for (const complaint of complaints) console.error(`wrong: ${complaint}`);
if (complaints.length > 0) console.error(`seed ${seed}`);
else console.log('nothing leaked, nothing fell');
process.exitCode = complaints.length > 0 ? 1 : 0;

async function fuzz(fuzzSeconds: number): Promise<{ report: CodecFuzzReport | null; complaints: string[] }> {
  const file = fileURLToPath(new URL('./media-fuzz-process.ts', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, file, String(fuzzSeconds), String(seed)], {
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

/** What a look would have had to say of it. */
function missedIn({ complaints: found }: SoakReport): string[] {
  const outlived = leakedKinds.map((kind) => `${kind} outlived their calls`);
  return [...outlived, 'memory grew']
    .filter((words) => !found.some((complaint) => complaint.includes(words)))
    .map((words) => `the canary leaked, and nobody said that "${words}"`);
}
