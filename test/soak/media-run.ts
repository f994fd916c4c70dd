/**
 * Calls at a real server for a while, and what is to be said against its media process afterwards: pictures that did not
 * come or were wrong, natives that outlived their calls, memory that grew.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../src/media/codec/engine.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';
import { framesPerSecond, SoakCall } from './media-call.ts';
import { SoakMedia } from './media-carrier.ts';
import { makeFilms } from './media-films.ts';
import { SoakServer } from './media-server.ts';

export interface SoakPlan {
  readonly engine: Engine;
  readonly seconds: number;
  readonly calls: number;
  readonly seed: number;
  /** A canary's media process. */
  readonly leaks: boolean;
}

export interface SoakReport {
  readonly pictures: number;
  readonly reconnections: number;
  readonly nativesMax: number;
  /** When every call had ended. */
  readonly nativesLeft: number;
  readonly residentMiB: { readonly first: number; readonly last: number };
  readonly grownMiB: number;
  /** Empty: nothing was wrong. */
  readonly complaints: readonly string[];
}

const mebibyte = 1024 * 1024;
/** Until buffers have found their size and code is compiled, memory grows: half of a short run, and a minute at most. */
const warmUpShare = 0.5;
const warmUpSecondsMax = 60;
/**
 * Between the first third of what is behind the warm-up and the last. What the collectors of two threads may be late by; in
 * ten minutes of 20 calls it is less than 200 bytes a frame.
 */
const grownMiBMax = 24;
/** Decoder, packets, frames, scaler and encoder of one call, twice: while a leg comes back, the old ones may still go. */
const nativesPerCallMax = 16;
const reconnectionsPerSecond = 1;
const sliceMs = 1000 / framesPerSecond;
/** What the media process may take to free what calls had. */
const freeingMsMax = 5000;
const lookMs = 50;

export async function soakMedia(plan: SoakPlan): Promise<SoakReport> {
  const media = new SoakMedia(plan.leaks);
  const complaints: string[] = [];
  const server = await SoakServer.start(media, plan.calls, (line) => complaints.push(line));
  try {
    const calls = await beginCalls(server, plan);
    const soak = new Soak(plan, media, calls);
    await soak.run();
    return await soak.end(complaints);
  } finally {
    await server.stop();
  }
}

async function beginCalls(server: SoakServer, plan: SoakPlan): Promise<readonly SoakCall[]> {
  const films = makeFilms(plan.engine);
  const calls: SoakCall[] = [];
  for (let index = 0; index < plan.calls; index += 1) {
    const kv = index % 2 === 0 ? films.h264 : films.mjpeg;
    const call = new SoakCall(await server.issue(index), kv, chanceFrom(plan.seed + index));
    await call.connectDevice();
    await call.connectBridge();
    calls.push(call);
  }
  return calls;
}

class Soak {
  readonly #plan: SoakPlan;
  readonly #media: SoakMedia;
  readonly #calls: readonly SoakCall[];
  readonly #chance: Chance;
  readonly #residentBytes: number[] = [];
  #nativesMax = 0;
  #reconnections = 0;
  /** By call, when the last quarter begins. */
  #picturesBefore: readonly number[] = [];

  constructor(plan: SoakPlan, media: SoakMedia, calls: readonly SoakCall[]) {
    this.#plan = plan;
    this.#media = media;
    this.#calls = calls;
    this.#chance = chanceFrom(plan.seed);
  }

  async run(): Promise<void> {
    const { seconds } = this.#plan;
    const stopSending = this.#send();
    try {
      for (let second = 0; second < seconds; second += 1) {
        if (second === Math.floor((seconds * 3) / 4))
          this.#picturesBefore = this.#calls.map(({ pictures }) => pictures);
        const turn = sleep(1000);
        await this.#reconnect();
        this.#residentBytes.push(this.#media.residentBytes());
        this.#nativesMax = Math.max(this.#nativesMax, await this.#media.countNatives());
        await turn;
      }
    } finally {
      stopSending();
    }
  }

  /** The calls hang up. */
  async end(complaints: string[]): Promise<SoakReport> {
    const silent = this.#calls.filter(
      ({ pictures }, index) => pictures <= (this.#picturesBefore[index] ?? 0),
    );
    if (silent.length > 0) complaints.push(`${silent.length} calls had no pictures towards the end`);
    complaints.push(...this.#calls.flatMap((call) => call.complaints.slice(0, 1)));
    await Promise.all(this.#calls.map((call) => call.hangUp()));
    const nativesLeft = await this.#countLeft();
    if (nativesLeft > 0) complaints.push(`${nativesLeft} natives outlived their calls`);
    if (this.#nativesMax > this.#calls.length * nativesPerCallMax)
      complaints.push(`${this.#nativesMax} natives for ${this.#calls.length} calls`);
    if (!this.#media.isAlive) complaints.push('the media process died');
    const resident = residentOf(this.#residentBytes);
    const grownMiB = resident.last - resident.first;
    if (grownMiB > grownMiBMax) complaints.push(`memory grew by ${grownMiB.toFixed(1)} MiB`);
    return {
      pictures: this.#calls.reduce((sum, { pictures }) => sum + pictures, 0),
      reconnections: this.#reconnections,
      nativesMax: this.#nativesMax,
      nativesLeft,
      residentMiB: resident,
      grownMiB,
      complaints,
    };
  }

  /** Each call 15 a second, all evenly over the time. */
  #send(): () => void {
    const startMs = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) / sliceMs) * this.#calls.length);
      for (; sent < due; sent += 1) this.#calls[sent % this.#calls.length]?.sendNext();
    }, 1);
    return () => clearInterval(timer);
  }

  async #reconnect(): Promise<void> {
    for (let left = reconnectionsPerSecond; left > 0; left -= 1) {
      const call = this.#calls[this.#chance.below(this.#calls.length)];
      await (this.#chance.below(2) === 0 ? call?.connectDevice() : call?.connectBridge());
      this.#reconnections += 1;
    }
  }

  async #countLeft(): Promise<number> {
    let left = await this.#media.countNatives();
    for (let waitedMs = 0; left > 0 && waitedMs < freeingMsMax; waitedMs += lookMs) {
      await sleep(lookMs);
      left = await this.#media.countNatives();
    }
    return left;
  }
}

/** In the first and the last third behind the warm-up, MiB. */
function residentOf(samples: readonly number[]): { first: number; last: number } {
  const warmUp = Math.min(warmUpSecondsMax, Math.floor(samples.length * warmUpShare));
  const behind = samples.slice(warmUp);
  const third = Math.max(1, Math.floor(behind.length / 3));
  return { first: medianMiB(behind.slice(0, third)), last: medianMiB(behind.slice(-third)) };
}

function medianMiB(samples: readonly number[]): number {
  return (samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)] ?? NaN) / mebibyte;
}
