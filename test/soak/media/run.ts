/**
 * Runs calls at a real server, and reports the failures of its media process: missing or wrong pictures, missing or drifting
 * audio, resources that outlived their call, and memory growth.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../../src/media/codec/engine.ts';
import { chanceFrom, type Chance } from '../../support/seeded-random.ts';
import type { Ending } from '../../support/temporary-store.ts';
import { framesPerSecond, SoakCall } from './call.ts';
import type { Ear } from './ear.ts';
import { combine, kindsHeld, SoakMedia, type MediaCounts } from './carrier.ts';
import { makeFilms } from './films.ts';
import { kindOf } from './kinds.ts';
import { SoakServer } from './call-server.ts';
import { packetsPerSecond, Sounds } from './sounds.ts';

export interface SoakPlan {
  readonly engine: Engine;
  readonly seconds: number;
  readonly calls: number;
  readonly seed: number;
  readonly leaks: boolean;
}

export interface SoakReport {
  readonly pictures: { readonly down: number; readonly up: number };
  readonly packetsHeard: number;
  /** Drift in stretches long enough to tell it from a busy machine, and in shorter ones. */
  readonly driftMs: Ear['driftMs'];
  readonly changes: number;
  readonly most: MediaCounts;
  /** After the end of all calls, in excess of the baseline. */
  readonly left: MediaCounts;
  readonly residentMiB: { readonly first: number; readonly last: number };
  readonly grownMiB: number;
  readonly complaints: readonly string[];
}

const mebibyte = 1024 * 1024;
/** Warm-up, in which buffers and compiled code grow: half of a short run, and at most a minute. */
const warmUpShare = 0.5;
const warmUpSecondsMax = 60;
/**
 * Maximum growth from the first third after the warm-up to the last. In ten minutes of 20 calls this is less than 200 bytes a
 * frame. The heaps of two threads grow for most of a minute until a full collection, which a short run does not see.
 */
const grownMiBMax = { long: 24, short: 20, shortPerCall: 2 };
const longSecondsMin = 2 * warmUpSecondsMax;
/**
 * Maximum resources per call, including legs that overlap during a reconnect: decoders, scalers, resamplers and encoders of
 * video and audio in both directions, and sockets of two legs.
 */
const heldPerCallMax: MediaCounts = {
  packets: 6,
  frames: 8,
  codecContexts: 6,
  graphs: 2,
  resamplers: 3,
  inputs: 0,
  peers: 2,
  timers: 2,
  descriptors: 4,
};
/** Resources that stay after all calls: the pipe and UDP port that WebRTC opens with its first connection. */
const keptMax: Partial<MediaCounts> = { descriptors: 3 };
const changesPerSecond = 1;
/** Final seconds without changes, so that the audio is gapless. */
const restSeconds = 3;
/** Maximum time until the media process has freed the resources of calls. */
const freeingMsMax = 5000;
const lookMs = 50;

export async function soakMedia(t: Ending, plan: SoakPlan): Promise<SoakReport> {
  const media = new SoakMedia(plan.leaks);
  const complaints: string[] = [];
  const server = await SoakServer.start(t, media, plan.calls, (line) => complaints.push(line));
  try {
    const before = await media.sample();
    const sounds = new Sounds(plan.engine);
    const calls = await beginCalls(server, plan, sounds);
    const soak = new Soak(plan, media, calls, before);
    await soak.run();
    complaints.push(...soak.judgeMedia(sounds));
    return await soak.end(complaints);
  } finally {
    await server.stop();
  }
}

async function beginCalls(
  server: SoakServer,
  { engine, calls: count, seed }: SoakPlan,
  sounds: Sounds,
): Promise<readonly SoakCall[]> {
  const films = makeFilms(engine);
  const calls: SoakCall[] = [];
  for (let index = 0; index < count; index += 1) {
    let room = 0;
    const call = new SoakCall({
      kind: kindOf(index),
      films,
      sounds,
      chance: chanceFrom(seed + index),
      issue: () => server.issue(index, (room += 1)),
    });
    await call.begin();
    calls.push(call);
  }
  return calls;
}

class Soak {
  readonly #plan: SoakPlan;
  readonly #media: SoakMedia;
  readonly #calls: readonly SoakCall[];
  readonly #before: MediaCounts;
  readonly #chance: Chance;
  readonly #residentBytes: number[] = [];
  #most: MediaCounts;
  #changes = 0;
  /** By call, at the start of the last quarter. */
  #picturesBefore: readonly SoakCall['pictures'][] = [];

  constructor(plan: SoakPlan, media: SoakMedia, calls: readonly SoakCall[], before: MediaCounts) {
    this.#plan = plan;
    this.#media = media;
    this.#calls = calls;
    this.#before = before;
    this.#most = before;
    this.#chance = chanceFrom(plan.seed);
  }

  async run(): Promise<void> {
    const { seconds } = this.#plan;
    const stops = [
      this.#everyOne(framesPerSecond, (call) => call.playFrame()),
      this.#everyOne(packetsPerSecond, (call) => call.playSound()),
    ];
    try {
      for (let second = 0; second < seconds; second += 1) {
        if (second === Math.floor((seconds * 3) / 4))
          this.#picturesBefore = this.#calls.map(({ pictures }) => ({ ...pictures }));
        const turn = sleep(1000);
        if (second < seconds - restSeconds) await this.#change();
        this.#residentBytes.push(this.#media.residentBytes());
        const look = await this.#media.sample();
        this.#most = combine(this.#most, look, Math.max);
        await turn;
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  judgeMedia(sounds: Sounds): readonly string[] {
    const blind = this.#calls.filter(({ kind, pictures }, index) => {
      const before = this.#picturesBefore[index];
      const isUpSeen = kind.upVideo === null || pictures.up > (before?.up ?? 0);
      return pictures.down <= (before?.down ?? 0) || !isUpSeen;
    });
    const failures = blind.length > 0 ? [`${blind.length} calls had no pictures towards the end`] : [];
    for (const { ears, packetsSent: sent, complaints } of this.#calls)
      failures.push(...complaints.slice(0, 1), ...ears.flatMap((ear) => ear.judge(sent, sounds)));
    return failures;
  }

  async end(complaints: string[]): Promise<SoakReport> {
    await Promise.all(this.#calls.map((call) => call.hangUp()));
    const left = await this.#countLeft();
    for (const kind of kindsHeld) {
      if (left[kind] > (keptMax[kind] ?? 0)) complaints.push(`${left[kind]} ${kind} outlived their calls`);
      if (this.#most[kind] - this.#before[kind] > this.#calls.length * heldPerCallMax[kind])
        complaints.push(`${this.#most[kind]} ${kind} for ${this.#calls.length} calls`);
    }
    if (!this.#media.isAlive) complaints.push('the media process died');
    const resident = residentOf(this.#residentBytes);
    const grownMiB = resident.last - resident.first;
    if (grownMiB > this.#grownMiBMax) complaints.push(`memory grew by ${grownMiB.toFixed(1)} MiB`);
    const ears = this.#calls.flatMap((call) => call.ears);
    return {
      pictures: {
        down: sum(this.#calls.map(({ pictures }) => pictures.down)),
        up: sum(this.#calls.map(({ pictures }) => pictures.up)),
      },
      packetsHeard: sum(ears.map(({ packets }) => packets)),
      driftMs: {
        long: Math.max(0, ...ears.map(({ driftMs }) => driftMs.long)),
        short: Math.max(0, ...ears.map(({ driftMs }) => driftMs.short)),
      },
      changes: this.#changes,
      most: this.#most,
      left,
      residentMiB: resident,
      grownMiB,
      complaints,
    };
  }

  get #grownMiBMax(): number {
    const { long, short, shortPerCall } = grownMiBMax;
    return this.#plan.seconds < longSecondsMin ? short + shortPerCall * this.#calls.length : long;
  }

  /** Runs `run` for each call at this rate, spread evenly. */
  #everyOne(perSecond: number, run: (call: SoakCall) => void): () => void {
    const startMs = performance.now();
    const perMs = (perSecond * this.#calls.length) / 1000;
    let done = 0;
    const timer = setInterval(() => {
      const due = Math.floor((performance.now() - startMs) * perMs);
      for (; done < due; done += 1) {
        const call = this.#calls[done % this.#calls.length];
        if (call !== undefined) run(call);
      }
    }, 1);
    return () => clearInterval(timer);
  }

  async #change(): Promise<void> {
    for (let left = changesPerSecond; left > 0; left -= 1) {
      await this.#calls[this.#chance.below(this.#calls.length)]?.change();
      this.#changes += 1;
    }
  }

  async #countLeft(): Promise<MediaCounts> {
    const beyond = async (): Promise<MediaCounts> =>
      combine(await this.#media.sample(), this.#before, (now, before) => now - before);
    let left = await beyond();
    const isLeft = (): boolean => kindsHeld.some((kind) => left[kind] > (keptMax[kind] ?? 0));
    for (let waitedMs = 0; isLeft() && waitedMs < freeingMsMax; waitedMs += lookMs) {
      await sleep(lookMs);
      left = await beyond();
    }
    return left;
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

/** Memory in the first and the last third after the warm-up, MiB. */
function residentOf(samples: readonly number[]): { first: number; last: number } {
  const warmUp = Math.min(warmUpSecondsMax, Math.floor(samples.length * warmUpShare));
  const behind = samples.slice(warmUp);
  const third = Math.max(1, Math.floor(behind.length / 3));
  return { first: medianMiB(behind.slice(0, third)), last: medianMiB(behind.slice(-third)) };
}

function medianMiB(samples: readonly number[]): number {
  return (samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)] ?? NaN) / mebibyte;
}
