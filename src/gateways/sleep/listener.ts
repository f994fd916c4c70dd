/**
 * The sleep port: accepts connections, starts their handshakes, and at the end drains. It knows how many there are; what
 * each does is its own. Source: sleep-wire.md; running.md, Stopping.
 */
import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SleepSessions } from '../../core/ports/device-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { Admission } from './admission.ts';
import type { SleepEndReason } from '../../model/sleep.ts';
import { DeviceConnections, deviceTickMs } from '../devices/device-connections.ts';
import type { SleepListenerContext } from './sleeping-connection.ts';
import { Handshake } from './handshake.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { readCertificate } from '../../lib/tls-files.ts';
import { tlsFiles, type ListenAddress } from '../../model/settings-values.ts';
import type { SleepSettings } from './settings.ts';
import { SleepSockets, type SleepCounts } from './sleep-sockets.ts';

export interface SleepListenerDeps {
  readonly clock: Clock;
  readonly sessions: SleepSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners' devices hold: with the sessions here they stay below the process's limit. */
  otherSockets(): number;
  /** True: the sockets at the address are another process's, which lends them. */
  readonly isLent: boolean;
}

export class SleepListener {
  readonly sockets: SleepSockets;
  readonly #context: SleepListenerContext;
  readonly #connections: DeviceConnections<SleepEndReason>;
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #deps: SleepListenerDeps;
  #address: ListenAddress | null = null;
  #connectionsMax = 0;
  #stopTurning: Cancel | null = null;

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
      hasRoom: () => this.#context.openConnections.size < this.#sessionsMaxNow,
      admission: new Admission(settings, clock),
      pending: connections.pending,
      openConnections: connections.openConnections,
      secureContext: readCertificate(tlsFiles(settings))?.secureContext ?? null,
      reportFailure: connections.reportFailure,
    };
    this.sockets = new SleepSockets(log, (socket) => this.#accept(socket));
  }

  /** Resolves when connections are accepted, or can be lent; rejects when the address cannot be had. */
  async listen(): Promise<void> {
    const { clock, settings, log, maxSessions } = this.#context;
    if (maxSessions < settings.max_sessions)
      log.info(
        { max_sessions: maxSessions, asked: settings.max_sessions },
        'the open files limit bounds the sleep sessions',
      );
    this.#turn();
    this.#address = this.#deps.isLent ? settings.listen : await this.sockets.listen(settings.listen);
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
    if (this.socketCount < this.#connectionsMax) return new Handshake(socket, this.#context).start();
    this.#context.telemetry.sleepLogin('busy');
    socket.destroy();
  }

  #turn(): void {
    this.#connections.turn();
    this.#connectionsMax = Math.max(0, this.#sessionsMaxNow) + handshakeSocketsReserved;
  }
}
