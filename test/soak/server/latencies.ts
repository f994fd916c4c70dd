/** Latencies since they were last read, and how often each kind of error has been since then. */
import { LatencyRecorder } from '../../../bench/harness/latency.ts';
import type { Latency } from './samples.ts';

export class Latencies {
  #recorder = new LatencyRecorder();

  add(milliseconds: number): void {
    this.#recorder.add(milliseconds);
  }

  take(): Latency {
    const reading = this.#recorder.read();
    this.#recorder = new LatencyRecorder();
    return reading;
  }
}

export class ErrorCounts {
  #counts = new Map<string, number>();

  /** Numbers and lines of an error tell no kinds apart. */
  add(of: string, what: string | Error): void {
    const words =
      typeof what === 'string' ? what : what.message.replaceAll(/\d+/g, '#').replaceAll(/\s+/g, ' ');
    const kind = `${of}: ${words.trim()}`;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  take(): Readonly<Record<string, number>> {
    const counts = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return counts;
  }
}
