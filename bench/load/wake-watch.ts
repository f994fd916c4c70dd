/**
 * Measures the time from a POST to the packet at the device. Both ends are in this process and share a clock; its own turn of
 * the event loop is part of every latency, for us and for peers.
 */
import { LatencyRecorder, type LatencyReading } from '../harness/latency.ts';
import type { Fleet } from './fleet.ts';
import type { LoadReading } from './http-load.ts';

export interface WakeReading {
  /** From the due time of the POST until the device reads the 8 bytes. */
  readonly wake: LatencyReading;
  readonly answers: LoadReading;
  readonly missing: number;
  /** Other bytes, and unexpected packets. */
  readonly strange: number;
}

const packet = Buffer.from('983b16f8f39c0000', 'hex');
const settleMs = 200;

export class WakeWatch {
  readonly #latency = new LatencyRecorder();
  /** Due time of the pending wakeup, by device. */
  readonly #due = new Map<number, number>();
  #strange = 0;
  #arrived: () => void = () => undefined;

  constructor(fleet: Fleet) {
    fleet.takePacket = (device, chunk) => this.#record(device, chunk);
  }

  expect(device: number, dueMs: number): void {
    this.#due.set(device, dueMs);
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  async read(answers: LoadReading): Promise<WakeReading> {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    return { wake: this.#latency.read(), answers, missing: this.#due.size, strange: this.#strange };
  }

  #record(device: number, chunk: Buffer): void {
    const dueMs = this.#due.get(device);
    if (dueMs === undefined || !chunk.equals(packet)) this.#strange += 1;
    else this.#latency.add(performance.now() - dueMs);
    this.#due.delete(device);
    this.#arrived();
  }
}
