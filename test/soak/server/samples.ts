/** The samples of a soak: JSON lines that server processes, load and soak append to one file. */
import { appendFileSync, readFileSync } from 'node:fs';

export interface ProcessSample {
  readonly kind: 'process';
  /** Unix seconds, as in every line. */
  readonly at: number;
  readonly pid: number;
  /** Taken after a garbage collection. */
  readonly isCollected: boolean;
  /** Anonymous resident memory; live memory of V8's heap and its buffers. */
  readonly rssAnonMiB: number;
  readonly liveMiB: number;
  readonly descriptors: number;
  readonly timers: number;
}

export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Counters and latencies of devices, backends and receivers since the previous sample. */
export interface LoadSample {
  readonly kind: 'load';
  readonly at: number;
  readonly asleep: number;
  readonly awake: number;
  /** From the request to the packet's arrival. */
  readonly wakeups: Latency;
  /** From an event's time to its arrival, by long poll and by the working webhook. */
  readonly events: Latency;
  readonly deliveries: Latency;
  readonly pictures: number;
  readonly errors: Readonly<Record<string, number>>;
}

export interface MemberSample {
  readonly kind: 'member';
  readonly at: number;
  readonly pid: number;
  readonly role: Role;
}

/** An action of the soak, or `wrong`: an immediate failure. */
export interface DeedSample {
  readonly kind: 'deed';
  readonly at: number;
  readonly what: 'loaded' | 'upgrade-begin' | 'upgrade-end' | 'import' | 'end' | 'wrong';
  readonly sentence?: string;
}

export const roles = ['supervisor', 'core', 'edge', 'media'] as const;
export type Role = (typeof roles)[number];

export type Sample = ProcessSample | LoadSample | MemberSample | DeedSample;

export function nowSeconds(): number {
  return Date.now() / 1000;
}

/** One write per line, so that lines of several processes do not mix. */
export function appendSample(file: string, sample: Sample): void {
  appendFileSync(file, `${JSON.stringify(sample)}\n`);
}

export function readSamples(file: string): readonly Sample[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Sample);
}
