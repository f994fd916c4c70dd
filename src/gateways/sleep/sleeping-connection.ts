/**
 * A connection with a session: its heartbeats, its wake packets, its end. A million of these are the house's
 * memory, so it holds what a sleeping module needs and no more; what only the login needed went with the
 * handshake. Lifecycle: entering -> asleep -> closed. Source: sleep-wire.md; decisions.md, Wakeup.
 */
import { wallSeconds } from '../../lib/clock.ts';
import type { WheelEntry } from '../../lib/deadline-wheel.ts';
import { heartbeatsMissedMax } from '../../model/limits.ts';
import type { CustomData, SleepEndReason, WakeWriteResult } from '../../model/sleep.ts';
import type { SleepConnection } from '../../core/ports/sleep-connection.ts';
import type { SleepSessionTicket } from '../../core/ports/sleep-sessions.ts';
import { encodeWakePacket } from '../../protocol/sleep/wake-packet.ts';
import type { SleepListenerContext, OpenSleepConnection } from './listener-context.ts';
import type { SocketOwner } from './socket-owner.ts';
import { WakeWriter, type PacketSocket } from './wake-writer.ts';

export type SleepConnectionDeps = Pick<
  SleepListenerContext,
  'clock' | 'settings' | 'sessions' | 'telemetry' | 'openConnections'
>;

/** What it needs of a socket. */
export interface SleepSocket extends PacketSocket {
  readonly destroyed: boolean;
  readonly writable: boolean;
  write(packet: Buffer, done: (error?: Error | null) => void): boolean;
  write(text: string, encoding: 'latin1', done: () => void): boolean;
  destroy(): unknown;
}

type Stage = 'entering' | 'asleep' | 'closed';

const refused: Promise<WakeWriteResult> = Promise.resolve('refused');

export class SleepingConnection implements SleepConnection, SocketOwner, OpenSleepConnection {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  lastHeartbeatAt = 0;
  readonly #socket: SleepSocket;
  readonly #context: SleepConnectionDeps;
  readonly #silenceMsMax: number;
  #stage: Stage = 'entering';
  #ticket: SleepSessionTicket | null = null;
  #wakes: WakeWriter | null = null;
  /** The flood window opens with the first bytes after the last one closed. */
  #windowEndMs = 0;
  #windowBytes = 0;

  constructor(socket: SleepSocket, context: SleepConnectionDeps, heartbeatSeconds: number) {
    this.#socket = socket;
    this.#context = context;
    this.#silenceMsMax = heartbeatsMissedMax * heartbeatSeconds * 1000;
  }

  /** The login is accepted; `restBytes` heartbeat bytes came with it. Says OK before any packet, if wanted. */
  fallAsleep(ticket: SleepSessionTicket, wantsReply: boolean, restBytes: number): void {
    if (this.#stage === 'closed') return;
    this.#stage = 'asleep';
    this.#ticket = ticket;
    this.deadlineMs = this.#context.clock.monotonicMs() + this.#silenceMsMax;
    this.#context.openConnections.add(this);
    if (wantsReply) this.#socket.write('OK\n', 'latin1', () => this.#wakes?.pump());
    this.#wakes?.pump();
    if (restBytes > 0) this.#heartbeat(restBytes);
  }

  received(chunk: Buffer): void {
    if (this.#stage === 'asleep') this.#heartbeat(chunk.length);
  }

  peerEnded(): void {
    this.end('peer_closed');
  }

  failed(): void {
    this.end('reset');
  }

  expire(): void {
    this.end('heartbeat_timeout');
  }

  wake(customData: CustomData): Promise<WakeWriteResult> {
    const socket = this.#socket;
    if (this.#stage === 'closed' || socket.destroyed || !socket.writable) return refused;
    this.#wakes ??= new WakeWriter(socket, this.#context, this);
    return this.#wakes.write(encodeWakePacket(customData), this.#stage === 'asleep');
  }

  end(reason: SleepEndReason): void {
    const ticket = this.#ticket;
    if (this.#stage !== 'asleep' || ticket === null) return;
    this.close(reason);
    this.#context.sessions.ended(ticket, reason, this.lastHeartbeatAt);
  }

  close(reason: SleepEndReason): void {
    if (this.#stage === 'closed') return;
    this.drop();
    this.#context.telemetry.sleepEnd(reason);
  }

  drop(): void {
    this.#stage = 'closed';
    this.#context.openConnections.remove(this);
    this.#socket.destroy();
    this.#wakes?.abandon();
  }

  /** The hot path: a few stores; the wheel finds the new deadline when it comes by. */
  #heartbeat(bytes: number): void {
    const { clock, settings } = this.#context;
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#windowEndMs) {
      this.#windowEndMs = nowMs + settings.floodWindowMs;
      this.#windowBytes = 0;
    }
    this.#windowBytes += bytes;
    if (this.#windowBytes > settings.floodBytesMax) {
      this.end('flood');
      return;
    }
    this.lastHeartbeatAt = wallSeconds(clock);
    this.deadlineMs = nowMs + this.#silenceMsMax;
  }
}
