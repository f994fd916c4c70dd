/**
 * Sends signed requests over keep-alive connections and checks every response. Closed loop: each connection sends its next
 * request after a response, which finds the maximum rate. Open loop: requests are due at a fixed rate, and latency counts from
 * the due time, so that a stalling server cannot hide delayed requests (coordinated omission).
 */
import { HttpConnection, type HttpAnswer } from './http-connection.ts';
import { LatencyRecorder, type LatencyReading } from '../harness/latency.ts';
import type { RequestSet } from './signed-requests.ts';

export interface LoadShape {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  readonly ratePerSecond: number | null;
  /** Polls once a millisecond, and leaves its core to other load. */
  readonly isCalm?: boolean;
}

export interface LoadReading {
  readonly seconds: number;
  readonly ratePerSecond: number;
  readonly latency: LatencyReading;
  readonly wrong: number;
  readonly firstWrong: string | null;
}

/** Time that an open loop waits for missing responses after the last request. */
const patienceMs = 5000;
const excerptLength = 400;

interface Slot {
  readonly connection: HttpConnection;
  /** Index of the pending request in the set, and its due time. */
  index: number;
  dueMs: number;
}

export class HttpLoad {
  readonly #requests: RequestSet;
  readonly #sent: (device: number, dueMs: number) => void;
  #cursor = 0;

  constructor(requests: RequestSet, sent: (device: number, dueMs: number) => void = () => undefined) {
    this.#requests = requests;
    this.#sent = sent;
  }

  async run(shape: LoadShape): Promise<LoadReading> {
    const connections = await HttpConnection.openMany(shape.port, shape.connections);
    try {
      const run = new LoadRun(shape, connections, (slot) => this.#send(slot), this.#requests);
      return await run.finished;
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  #send(slot: Slot): void {
    const { bytes, devices } = this.#requests;
    slot.index = this.#cursor;
    this.#cursor = (this.#cursor + 1) % bytes.length;
    this.#sent(devices[slot.index] ?? 0, slot.dueMs);
    slot.connection.send(bytes[slot.index] ?? Buffer.alloc(0));
  }
}

class LoadRun {
  readonly finished: Promise<LoadReading>;
  readonly #shape: LoadShape;
  readonly #send: (slot: Slot) => void;
  readonly #requests: RequestSet;
  readonly #latency = new LatencyRecorder();
  readonly #startMs = performance.now();
  readonly #endMs: number;
  readonly #free: Slot[];
  #finish: (reading: LoadReading) => void = () => undefined;
  #sent = 0;
  #answered = 0;
  #wrong = 0;
  #firstWrong: string | null = null;

  constructor(
    shape: LoadShape,
    connections: readonly HttpConnection[],
    send: (slot: Slot) => void,
    requests: RequestSet,
  ) {
    this.#shape = shape;
    this.#send = send;
    this.#requests = requests;
    this.#endMs = this.#startMs + shape.seconds * 1000;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.#free = connections.map((connection) => {
      const slot: Slot = { connection, index: 0, dueMs: 0 };
      connection.listen(
        (answer) => this.#answer(slot, answer),
        (error) => this.#countFailure(error.message),
      );
      return slot;
    });
    this.#turn();
  }

  /**
   * Polls without a pause unless `isCalm`: a timer would send in bursts of its resolution, and a server pays 4 to 6 µs to wake a load
   * that sleeps, which only a slow server does.
   */
  #turn(): void {
    const nowMs = performance.now();
    if (this.#shape.ratePerSecond === null) this.#fillSlots(nowMs);
    else this.#sendDue(nowMs, this.#shape.ratePerSecond);
    const isOver = nowMs >= this.#endMs && this.#answered >= this.#sent && this.#backlog === 0;
    if (isOver || nowMs > this.#endMs + patienceMs) this.#finish(this.#read(nowMs));
    else if (this.#shape.isCalm === true) setTimeout(() => this.#turn(), 1);
    else setImmediate(() => this.#turn());
  }

  #fillSlots(nowMs: number): void {
    if (nowMs >= this.#endMs) return;
    for (const slot of this.#free.splice(0)) this.#start(slot, nowMs);
  }

  #sendDue(nowMs: number, ratePerSecond: number): void {
    const due = this.#dueBy(nowMs, ratePerSecond);
    while (this.#sent < due) {
      // Round robin, so that no connection reaches the front's idle timeout of 10 s.
      const slot = this.#free.shift();
      if (slot === undefined) return;
      this.#start(slot, this.#startMs + ((this.#sent + 1) * 1000) / ratePerSecond);
    }
  }

  #dueBy(nowMs: number, ratePerSecond: number): number {
    return Math.floor(((Math.min(nowMs, this.#endMs) - this.#startMs) / 1000) * ratePerSecond);
  }

  get #backlog(): number {
    const { ratePerSecond } = this.#shape;
    return ratePerSecond === null ? 0 : this.#dueBy(this.#endMs, ratePerSecond) - this.#sent;
  }

  #start(slot: Slot, dueMs: number): void {
    this.#sent += 1;
    slot.dueMs = dueMs;
    this.#send(slot);
  }

  #answer(slot: Slot, { status, text }: HttpAnswer): void {
    const nowMs = performance.now();
    this.#answered += 1;
    this.#latency.add(nowMs - slot.dueMs);
    const mark = this.#requests.marks[slot.index] ?? '';
    const isGood = status === this.#requests.goodStatus && text.includes('"code":0') && text.includes(mark);
    if (!isGood) this.#countFailure(text);
    if (this.#shape.ratePerSecond === null && nowMs < this.#endMs) this.#start(slot, nowMs);
    else this.#free.push(slot);
  }

  #countFailure(trouble: string): void {
    this.#wrong += 1;
    this.#firstWrong ??= trouble.slice(0, excerptLength);
  }

  #read(nowMs: number): LoadReading {
    const missing = this.#sent - this.#answered + this.#backlog;
    if (missing > 0) this.#firstWrong ??= `${missing} requests were not answered`;
    const seconds = (nowMs - this.#startMs) / 1000;
    return {
      seconds,
      ratePerSecond: this.#answered / seconds,
      latency: this.#latency.read(),
      wrong: this.#wrong + missing,
      firstWrong: this.#firstWrong,
    };
  }
}
