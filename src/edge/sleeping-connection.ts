/**
 * A connection with a session: heartbeats, wake packets, end. A million of these make up the server's memory, so it holds no more
 * than a sleeping module needs; the state of the login was dropped with the handshake.
 * Lifecycle: entering -> asleep -> closed. Source: sleep-wire.md; decisions.md, Wakeup.
 */
import type { SecureContext } from 'node:tls';
import { wallSeconds, wholeMsIn } from '../lib/clock.ts';
import type { WheelEntry } from '../lib/collections/deadline-wheel.ts';
import { heartbeatsMissedMax } from '../model/limits.ts';
import type { CustomData, SleepEndReason, WakeWriteResult } from '../model/sleep.ts';
import type { SleepConnection, SessionTicket, SleepAdmissions } from '../core/ports/device-sessions.ts';
import { encodeWakePacket } from '../protocol/sleep/wake-packet.ts';
import type { OpenConnection, DeviceListenerContext } from '../lib/connections/device-connections.ts';
import type { SocketOwner } from './owned-socket.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { WakeWriter, type PacketSocket } from './wake-writer.ts';
import type { Admission } from './admission.ts';
import type { SleepSettings } from './settings.ts';

export interface SleepListenerContext extends DeviceListenerContext<
  SleepSettings,
  SleepAdmissions,
  SleepEndReason
> {
  readonly telemetry: SleepTelemetry;
  /** The setting, or less if the open file limit is lower. */
  readonly maxSessions: number;
  readonly admission: Admission;
  /** The certificate in force; null: plain TCP. Replaced by a reload. */
  secureContext: SecureContext | null;
}

export type SleepConnectionDeps = Pick<
  SleepListenerContext,
  'clock' | 'settings' | 'sessions' | 'telemetry' | 'openConnections'
>;

/** The part of a socket that a sleeping connection uses. */
export interface SleepSocket extends PacketSocket {
  readonly destroyed: boolean;
  readonly writable: boolean;
  /** The peer has hung up. */
  readonly readableEnded: boolean;
  write(packet: Buffer, done: (error?: Error | null) => void): boolean;
  write(text: string, encoding: 'latin1', done: () => void): boolean;
  destroy(): unknown;
}

type Stage = 'entering' | 'asleep' | 'closed';

const refused: Promise<WakeWriteResult> = Promise.resolve('refused');

export class SleepingConnection implements SleepConnection, SocketOwner, OpenConnection<SleepEndReason> {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  lastHeartbeatAt = 0;
  readonly #socket: SleepSocket;
  readonly #context: SleepConnectionDeps;
  readonly #silenceMsMax: number;
  #stage: Stage = 'entering';
  /** An end reason: it ended before its login was answered. Null: no session yet. */
  #session: SessionTicket | SleepEndReason | null = null;
  #wakes: WakeWriter | null = null;
  /** End of the flood window, which opens with the first bytes after the last one closed. */
  #windowEndMs = 0;
  #windowBytes = 0;

  constructor(socket: SleepSocket, context: SleepConnectionDeps, heartbeatSeconds: number) {
    this.#socket = socket;
    this.#context = context;
    this.#silenceMsMax = heartbeatsMissedMax * heartbeatSeconds * 1000;
  }

  get ticket(): SessionTicket | null {
    return typeof this.#session === 'string' ? null : this.#session;
  }

  /**
   * Called for an accepted login; `restBytes` heartbeat bytes arrived with it. Sends OK before any packet, if requested. If the
   * connection has ended meanwhile, its session ends too, unless the core closed it.
   */
  fallAsleep(ticket: SessionTicket, wantsReply: boolean, restBytes: number): void {
    this.#context.telemetry.sleepLogin('accepted');
    if (this.#stage === 'closed') return this.#endLate(ticket);
    this.#stage = 'asleep';
    this.#session = ticket;
    this.deadlineMs = wholeMsIn(this.#context.clock, this.#silenceMsMax);
    this.#context.openConnections.add(this);
    if (wantsReply) this.#socket.write('OK\n', 'latin1', () => this.#wakes?.pump());
    this.#wakes?.pump();
    if (restBytes > 0) this.#heartbeat(restBytes);
    if (this.#socket.readableEnded) this.end('peer_closed');
  }

  /** Ends it before its login is answered; the socket stays open. */
  abandon(reason: SleepEndReason): void {
    if (this.#stage !== 'entering') return;
    this.#stage = 'closed';
    this.#session = reason;
    this.#wakes?.abandon();
  }

  received(chunk: Buffer): void {
    if (this.#stage !== 'closed') this.#heartbeat(chunk.length);
  }

  peerEnded(): void {
    // A peer that has sent FIN may still read the answer to its login.
    if (this.#stage !== 'entering') this.end('peer_closed');
  }

  failed(): void {
    this.end(this.#socket.readableEnded ? 'peer_closed' : 'reset');
  }

  expire(): void {
    this.end('heartbeat_timeout');
  }

  get isOpen(): boolean {
    const socket = this.#socket;
    return this.#stage !== 'closed' && !socket.destroyed && socket.writable && !socket.readableEnded;
  }

  wake(customData: CustomData): Promise<WakeWriteResult> {
    if (!this.isOpen) return refused;
    this.#wakes ??= new WakeWriter(this.#socket, this.#context, this);
    return this.#wakes.write(encodeWakePacket(customData), this.#stage === 'asleep');
  }

  end(reason: SleepEndReason): void {
    if (this.#stage === 'entering') {
      this.abandon(reason);
      this.#socket.destroy();
      return;
    }
    const { ticket } = this;
    if (this.#stage === 'closed' || ticket === null) return;
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

  #endLate(ticket: SessionTicket): void {
    const reason = this.#session;
    if (typeof reason !== 'string') return;
    this.#context.telemetry.sleepEnd(reason);
    this.#context.sessions.ended(ticket, reason, this.lastHeartbeatAt);
  }

  /** Hot path: stores two numbers; the wheel finds the new deadline when it reaches the old one. */
  #heartbeat(bytes: number): void {
    const { clock, settings } = this.#context;
    const nowMs = clock.monotonicMs();
    if (nowMs >= this.#windowEndMs) {
      this.#windowEndMs = Math.ceil(nowMs + settings.flood_window_ms);
      this.#windowBytes = 0;
    }
    this.#windowBytes += bytes;
    if (this.#windowBytes > settings.flood_bytes_max) {
      this.end('flood');
      return;
    }
    this.lastHeartbeatAt = wallSeconds(clock);
    this.deadlineMs = Math.ceil(nowMs + this.#silenceMsMax);
  }
}
