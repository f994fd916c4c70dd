/** Latencies and error counts since they were last read. */
import { LatencyRecorder } from '../../../bench/harness/latency.ts';
import type { Latency } from './samples.ts';

export class Latencies {
  #recorder = new LatencyRecorder();

  add(milliseconds: number): void {
    this.#recorder.add(milliseconds);
  }

  read(): Latency {
    const reading = this.#recorder.read();
    this.#recorder = new LatencyRecorder();
    return reading;
  }
}

export class ErrorCounts {
  #counts = new Map<string, number>();

  /** Errors that differ only in numbers or white space count as one kind. */
  add(of: string, what: string | Error): void {
    const words =
      typeof what === 'string' ? what : what.message.replaceAll(/\d+/g, '#').replaceAll(/\s+/g, ' ');
    const kind = `${of}: ${words.trim()}`;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  read(): Readonly<Record<string, number>> {
    const counts = Object.fromEntries(this.#counts);
    this.#counts = new Map();
    return counts;
  }
}
