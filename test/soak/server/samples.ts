/** The samples of a soak: lines of JSON that the server's processes, the load and the soak append to one file. */
import { appendFileSync, readFileSync } from 'node:fs';

/** A sample that one process of the server takes of itself. */
export interface ProcessSample {
  readonly kind: 'process';
  /** Unix seconds, as in every line. */
  readonly at: number;
  readonly pid: number;
  /** Its garbage was collected before. */
  readonly isCollected: boolean;
  /** Resident memory that no file backs; memory alive in V8's heap and in buffers that it owns. */
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

/** Counts and latencies of devices, backends and receivers since the sample before. */
export interface LoadSample {
  readonly kind: 'load';
  readonly at: number;
  readonly asleep: number;
  readonly awake: number;
  /** From the request to the packet at the device. */
  readonly wakeups: Latency;
  /** From an event's time to its reader, by a long poll and by the webhook that works. */
  readonly events: Latency;
  readonly deliveries: Latency;
  readonly pictures: number;
  /** By kind. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Which process of the server has this id. */
export interface MemberSample {
  readonly kind: 'member';
  readonly at: number;
  readonly pid: number;
  readonly role: Role;
}

/** An act of the soak, or `wrong`: an immediate finding. */
export interface DeedSample {
  readonly kind: 'deed';
  readonly at: number;
  readonly what: 'loaded' | 'upgrade-begin' | 'upgrade-end' | 'import' | 'end' | 'wrong';
  /** The finding of `wrong`. */
  readonly sentence?: string;
}

export const roles = ['supervisor', 'core', 'edge', 'media'] as const;
export type Role = (typeof roles)[number];

export type Sample = ProcessSample | LoadSample | MemberSample | DeedSample;

export function nowSeconds(): number {
  return Date.now() / 1000;
}

/** In one write, so that lines of several processes don't mix. */
export function appendSample(file: string, sample: Sample): void {
  appendFileSync(file, `${JSON.stringify(sample)}\n`);
}

export function readSamples(file: string): readonly Sample[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Sample);
}
