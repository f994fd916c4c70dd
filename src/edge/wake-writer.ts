/**
 * The wake packets of one connection: one at a time, each one write of 8 bytes on a socket with nothing else
 * waiting, each answered within its deadline. Made with a connection's first wakeup.
 *
 * What the answers rest on: a write that the kernel takes at once leaves `writableLength` at 0 before `write`
 * returns, and its callback follows in the same turn, so no timer is armed for it. A write that has to wait
 * has certainly not been sent when its socket is closed first: Node then calls its callback without an error,
 * which must not be read as success. Source: decisions.md, Wakeup.
 */
import type { Cancel, Clock } from '../lib/clock.ts';
import { wakeupsWaitingMax } from '../model/limits.ts';
import type { WakeWriteResult } from '../model/sleep.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import type { SleepSettings } from './settings.ts';

/** `waiting`: not begun. `sending`: begun, not with the kernel. `sent`: taken or failed; the callback will say. */
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

/** What it needs of a socket. */
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
  /** The one whose callback has not come. */
  #begun: Wake | null = null;

  constructor(socket: PacketSocket, deps: WakeDeps, owner: StuckOwner) {
    this.#socket = socket;
    this.#deps = deps;
    this.#owner = owner;
  }

  /** Resolves within the write deadline. `isOpen` false: the connection takes no packet before the next `pump`. */
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

  /** Begins the next write if the socket has nothing else to send. */
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

  /** The connection is closed: what the kernel has not taken is not sent. */
  abandon(): void {
    for (const wake of this.#waiting) settle(wake, 'refused');
    this.#waiting = [];
    if (this.#begun?.stage === 'sending') settle(this.#begun, 'refused');
    // Answered already, but its timer may still wait to call the peer stuck.
    this.#begun?.timer?.();
  }

  #landed(wake: Wake, error: Error | null | undefined): void {
    this.#begun = null;
    wake.timer?.();
    if (wake.stage !== 'answered') {
      settle(wake, error ? 'refused' : 'written');
      if (!error) this.#deps.telemetry.wakeupWrite((this.#deps.clock.monotonicMs() - wake.begunMs) / 1000);
    }
    this.pump();
  }

  #overdue(wake: Wake): void {
    if (wake.stage === 'waiting') {
      this.#waiting = this.#waiting.filter((other) => other !== wake);
      settle(wake, 'refused');
      return;
    }
    settle(wake, 'unknown');
    const { clock, settings } = this.#deps;
    const unsentMs = clock.monotonicMs() - wake.begunMs;
    wake.timer = clock.after(settings.write_stuck_ms - unsentMs, () => this.#owner.end('write_stuck'));
  }
}

function settle(wake: Wake, result: WakeWriteResult): void {
  wake.stage = 'answered';
  wake.timer?.();
  wake.timer = null;
  wake.answer(result);
}
