/**
 * Writes the wake packets of one connection: one at a time, each a write of 8 bytes to a socket with nothing else pending, each with a
 * result within its deadline. Created with a connection's first wakeup.
 *
 * Assumptions: a write that the kernel accepts at once leaves `writableLength` at 0 before `write` returns, and its callback follows in
 * the same turn, so it needs no timer. A buffered write was certainly not sent if its socket is closed first: Node then calls the
 * callback without an error, which must not count as success. Source: decisions.md, Wakeup.
 */
import type { Cancel, Clock } from '../lib/clock.ts';
import { wakeupsWaitingMax } from '../model/limits.ts';
import type { WakeWriteResult } from '../model/sleep.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import type { SleepSettings } from './settings.ts';

/** `waiting`: queued. `sending`: buffered by Node. `sent`: accepted by the kernel or failed; the callback gives the result. */
type WakeStage = 'waiting' | 'sending' | 'sent' | 'answered';

interface Wake {
  readonly packet: Buffer;
  readonly answer: (result: WakeWriteResult) => void;
  stage: WakeStage;
  /** Monotonic milliseconds of the write call. */
  begunMs: number;
  timer: Cancel | null;
}

export interface WakeDeps {
  readonly clock: Clock;
  readonly telemetry: SleepTelemetry;
  readonly settings: Pick<SleepSettings, 'write_deadline_ms' | 'write_stuck_ms'>;
}

/** The part of a socket that the writer uses. */
export interface PacketSocket {
  readonly writableLength: number;
  write(packet: Buffer, done: (error?: Error | null) => void): boolean;
}

export interface StuckOwner {
  end(reason: 'write_stuck'): void;
}

export class WakeWriter {
  readonly #socket: PacketSocket;
  readonly #deps: WakeDeps;
  readonly #owner: StuckOwner;
  #waiting: Wake[] = [];
  /** The write whose callback is pending. */
  #begun: Wake | null = null;

  constructor(socket: PacketSocket, deps: WakeDeps, owner: StuckOwner) {
    this.#socket = socket;
    this.#deps = deps;
    this.#owner = owner;
  }

  /** Resolves within the write deadline. `isOpen` false: nothing is written before the next `pump`. */
  write(packet: Buffer, isOpen: boolean): Promise<WakeWriteResult> {
    if (this.#waiting.length >= wakeupsWaitingMax) return Promise.resolve('busy');
    return new Promise((answer) => {
      const wake: Wake = { packet, answer, stage: 'waiting', begunMs: 0, timer: null };
      this.#waiting.push(wake);
      if (isOpen) this.pump();
      if (wake.stage === 'waiting' || wake.stage === 'sending')
        wake.timer = this.#deps.clock.after(this.#deps.settings.write_deadline_ms, () => this.#overdue(wake));
    });
  }

  /** Starts the next write if the socket has nothing else to send. */
  pump(): void {
    if (this.#begun !== null || this.#socket.writableLength > 0) return;
    const wake = this.#waiting.shift();
    if (wake === undefined) return;
    this.#begun = wake;
    wake.begunMs = this.#deps.clock.monotonicMs();
    wake.stage = 'sending';
    this.#socket.write(wake.packet, (error) => this.#landed(wake, error));
    if (this.#socket.writableLength === 0) wake.stage = 'sent';
  }

  /** The connection is closed: packets that the kernel has not accepted are refused. */
  abandon(): void {
    for (const wake of this.#waiting) answerWake(wake, 'refused');
    this.#waiting = [];
    if (this.#begun?.stage === 'sending') answerWake(this.#begun, 'refused');
    // Answered already, but its timer may still end the connection as stuck.
    this.#begun?.timer?.();
  }

  #landed(wake: Wake, error: Error | null | undefined): void {
    this.#begun = null;
    wake.timer?.();
    if (wake.stage !== 'answered') {
      answerWake(wake, error ? 'refused' : 'written');
      if (!error) this.#deps.telemetry.wakeupWrite((this.#deps.clock.monotonicMs() - wake.begunMs) / 1000);
    }
    this.pump();
  }

  #overdue(wake: Wake): void {
    if (wake.stage === 'waiting') {
      this.#waiting = this.#waiting.filter((other) => other !== wake);
      answerWake(wake, 'refused');
      return;
    }
    answerWake(wake, 'unknown');
    const { clock, settings } = this.#deps;
    const unsentMs = clock.monotonicMs() - wake.begunMs;
    wake.timer = clock.after(settings.write_stuck_ms - unsentMs, () => this.#owner.end('write_stuck'));
  }
}

function answerWake(wake: Wake, result: WakeWriteResult): void {
  wake.stage = 'answered';
  wake.timer?.();
  wake.timer = null;
  wake.answer(result);
}
