/**
 * The sleep port: accepts connections, starts their handshakes, and at the end drains. It knows how many there are; what
 * each does is its own. Source: sleep-wire.md; running.md, Stopping.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { assert } from '../lib/assert.ts';
import { addressKey } from '../lib/connections/address-key.ts';
import { pause, type Cancel, type Clock } from '../lib/clock.ts';
import { continueReading, haltReading, type SocketHandle } from '../lib/bound-sockets.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../model/limits.ts';
import { heldConnectionsMax } from '../model/upgrade-limits.ts';
import type { Log } from '../lib/log.ts';
import type { SessionTicket, SleepConnection, SleepAdmissions } from '../core/ports/device-sessions.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { Admission } from './admission.ts';
import type { SleepEndReason } from '../model/sleep.ts';
import { DeviceConnections, deviceTickMs } from '../lib/connections/device-connections.ts';
import {
  SleepingConnection,
  type HandedConnection,
  type SleepListenerContext,
  type SleepState,
} from './sleeping-connection.ts';
import { adoptSocket, askAddress, handOverSocket, releaseSocket, startReading } from './owned-socket.ts';
import { Handshake } from './handshake.ts';
import { boundSessions, readOpenFilesLimit } from '../lib/open-files-limit.ts';
import { readCertificate, tlsFiles } from '../lib/connections/tls-files.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';
import type { SleepFront } from './sleep-front.ts';
import type { SleepSettings } from './settings.ts';
import { SleepSockets, type SleepCounts, type SleepPort } from './sleep-sockets.ts';

export interface SleepListenerDeps {
  readonly clock: Clock;
  readonly sessions: SleepAdmissions;
  readonly telemetry: SleepTelemetry;
  readonly log: Log;
  /** Descriptors that other listeners' devices hold: with the sessions here they stay below the process's limit. */
  otherSockets(): number;
  readonly port: SleepPort;
}

/** A session that slept in another process, or in this one before. */
export interface ArrivingConnection {
  readonly state: SleepState;
  readonly socket: Socket;
  /** Nobody hears its events yet. */
  readonly isFresh: boolean;
}

/** Has the device's actor take the connection; null: the session is over. */
type Claim = (connection: SleepConnection) => SessionTicket | null;

/** Logins under way are looked at so often while a listener is handed over. */
const holdTickMs = 20;

export class SleepListener implements SleepFront {
  readonly sockets: SleepSockets;
  readonly #context: SleepListenerContext;
  readonly #connections: DeviceConnections<SleepEndReason>;
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #deps: SleepListenerDeps;
  #address: ListenAddress | null = null;
  #connectionsMax = 0;
  /** Accepted while this listener is being handed over, untouched; null: it is not. */
  #held: Socket[] | null = null;
  /** Where those that are still accepted go; null: not known yet. */
  #next: ((socket: Socket) => void) | null = null;
  #stopTurning: Cancel | null = null;
  readonly #hasRoom = (): boolean => this.sessionCount < this.#sessionsMaxNow;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: SleepSettings, deps: SleepListenerDeps) {
    const { clock, log } = deps;
    const connections = new DeviceConnections<SleepEndReason>(
      clock,
      log,
      'cannot verify sleep logins: the registry is unreadable',
    );
    this.#connections = connections;
    this.#deps = deps;
    this.#context = {
      ...deps,
      settings,
      maxSessions: Math.min(settings.max_sessions, this.#socketsMax),
      hasRoom: this.#hasRoom,
      admission: new Admission(settings, clock),
      pending: connections.pending,
      unproved: connections.unproved,
      openConnections: connections.openConnections,
      secureContext: readCertificate(tlsFiles(settings))?.secureContext ?? null,
      reportFailure: connections.reportFailure,
    };
    this.sockets = new SleepSockets(log, (socket) => this.#accept(socket));
  }

  /**
   * Resolves when connections are accepted, or can be lent; rejects when the address cannot be had. `inherited`: the
   * listening sockets of whoever listened there before.
   */
  async listen(inherited: readonly SocketHandle[] = []): Promise<void> {
    const { clock, settings, log, maxSessions } = this.#context;
    if (maxSessions < settings.max_sessions)
      log.info(
        { max_sessions: maxSessions, asked: settings.max_sessions },
        'the open files limit bounds the sleep sessions',
      );
    this.#turn();
    this.#address = await this.sockets.open(this.#deps.port, settings.listen, inherited);
    this.#stopTurning = clock.every(deviceTickMs, () => this.#turn());
  }

  /** The real one, also when port 0 was asked for. Once it listens; it stays what it was when it does no longer. */
  get address(): ListenAddress {
    assert(this.#address !== null, 'a listener has an address once it listens');
    return this.#address;
  }

  get maxSessions(): number {
    return this.#context.maxSessions;
  }

  get sessionCount(): number {
    return this.#context.openConnections.size;
  }

  get handshakeCount(): number {
    return this.#context.admission.inside;
  }

  get waitingCount(): number {
    return this.#context.admission.waiting;
  }

  /** Descriptors held, those of the refused who still read why among them. */
  get socketCount(): number {
    return this.sessionCount + this.#context.pending.size;
  }

  get counts(): SleepCounts {
    return { open: this.socketCount, taken: this.sockets.taken };
  }

  /**
   * Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in
   * order.
   */
  reloadTls(): void {
    const certificate = readCertificate(tlsFiles(this.#context.settings));
    this.#context.secureContext = certificate?.secureContext ?? null;
  }

  /**
   * Accepts no more, refuses logins under way, and ends sessions at the rate. What is left after `deadlineMs`
   * stays as it is, for the kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    void this.sockets.close();
    this.#context.admission.close();
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  /** The connections that have a session and can be handed over: those of TLS cannot, whose state is in the library. */
  *movable(): Generator<SleepingConnection> {
    for (const open of this.#context.openConnections.pick(Infinity))
      if (open instanceof SleepingConnection && !(open.socket instanceof TLSSocket)) yield open;
  }

  /** Sessions here cannot be handed over. */
  get isEncrypted(): boolean {
    return this.#context.secureContext !== null;
  }

  /**
   * From now on what is accepted is kept as it comes, for the next listener. Resolves when the logins under way are through;
   * those that are not within `waitMs` are refused as busy.
   */
  async hold(waitMs: number): Promise<void> {
    const { clock, pending, admission } = this.#context;
    this.#held ??= [];
    const endMs = clock.monotonicMs() + waitMs;
    while (pending.size > 0 && clock.monotonicMs() < endMs) await pause(clock, holdTickMs);
    admission.close();
    for (const connection of pending.pick(Infinity)) connection.turnAway();
  }

  /** Lets go of every session that can be handed over, and of the deadlines of the rest. What is left ends. */
  handOver(): HandedConnection[] {
    this.#stopTurning?.();
    const handed: HandedConnection[] = [];
    for (const connection of this.movable()) {
      const left = connection.handOver();
      if (left === null) connection.end('write_stuck');
      else {
        releaseSocket(left.socket as Socket);
        haltReading(left.socket as Socket);
        handed.push(left);
      }
    }
    return handed;
  }

  /** Takes up a session, and reads from now on. False, and the socket is closed: it is its device's no more. */
  adopt({ state, socket, isFresh }: ArrivingConnection, claim: Claim): boolean {
    const connection = new SleepingConnection(socket, this.#context, state.heartbeatSeconds);
    const ticket = claim(connection);
    if (ticket === null) {
      socket.destroy();
      return false;
    }
    connection.sleepOn(ticket, state);
    if (isFresh) adoptSocket(socket, connection);
    else handOverSocket(socket, connection);
    if (isFresh) startReading(socket);
    if (socket.destroyed) connection.failed();
    else if (isFresh) socket.resume();
    else continueReading(socket);
    return true;
  }

  /** One that another listener has accepted and not touched. */
  take(socket: Socket): void {
    this.#accept(socket);
  }

  /** What is left of a listener that was handed over: connections that had no session. */
  abandon(): void {
    this.#connections.drop();
  }

  /** What was kept goes to the next listener, and what still comes. */
  passOn(next: (socket: Socket) => void): void {
    this.#next = next;
    for (const socket of this.#held?.splice(0) ?? []) next(socket);
  }

  /** Fewer while others hold what the limit of open files allows. */
  get #sessionsMaxNow(): number {
    return Math.min(this.#context.maxSessions, this.#socketsMax - this.#deps.otherSockets());
  }

  /** Closes every socket that is left, telling nobody, and resolves when the port is free. */
  close(): Promise<void> {
    const closed = this.sockets.close();
    this.#context.admission.close();
    this.#connections.drop();
    this.#stopTurning?.();
    return closed;
  }

  #accept(socket: Socket): void {
    if (this.#held !== null) return this.#hold(socket, this.#held);
    this.sockets.balance(this.#hasRoom);
    const { unproved, clock, telemetry } = this.#context;
    const address = this.#addressOf(socket);
    const limits = { max: this.#connectionsMax - this.sessionCount, perAddressMax: 0 };
    if (unproved.makeRoom(address, clock.monotonicMs(), limits, (evicted) => evicted.evict()))
      return new Handshake(socket, address, this.#context).start();
    telemetry.sleepLogin('busy');
    socket.destroy();
  }

  /** Asked for only where it counts. A peer that is gone already has none; its close is on the way. */
  #addressOf(socket: Socket): string {
    const { admission, settings } = this.#context;
    return admission.countsAddresses && !settings.proxy_protocol ? addressKey(askAddress(socket)) : '';
  }

  #hold(socket: Socket, held: Socket[]): void {
    // Before its first byte is read: that is the next listener's.
    haltReading(socket);
    if (this.#next !== null) this.#next(socket);
    else if (held.length < heldConnectionsMax) held.push(socket);
    else socket.destroy();
  }

  #turn(): void {
    this.sockets.balance(this.#hasRoom);
    this.#connections.turn();
    this.#context.admission.turn();
    this.#connectionsMax = Math.max(0, this.#sessionsMaxNow) + handshakeSocketsReserved;
  }
}
