/**
 * The sleep port: accepts connections, starts their handshakes, limits their number, and drains at the end.
 * Source: sleep-wire.md; running.md, Stopping.
 */
import type { Socket } from 'node:net';
import type { CoreDeps } from '../core/ports/core-deps.ts';
import { assert } from '../lib/assert.ts';
import { addressKey } from '../lib/connections/address-key.ts';
import type { Cancel } from '../lib/clock.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../model/limits.ts';
import type { SleepAdmissions } from '../core/ports/device-sessions.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { Admission } from './admission.ts';
import type { SleepEndReason } from '../model/sleep.ts';
import { DeviceConnections, deviceTickMs } from '../lib/connections/device-connections.ts';
import type { SleepListenerContext } from './sleeping-connection.ts';
import { askAddress } from './owned-socket.ts';
import { Handshake } from './handshake.ts';
import { boundSessions, readOpenFilesLimit } from '../lib/open-files-limit.ts';
import { readCertificate, tlsFiles } from '../lib/connections/tls-files.ts';
import type { ListenAddress } from '../lib/connections/listen-address.ts';
import type { SleepFront } from './sleep-front.ts';
import type { SleepSettings } from './settings.ts';
import { SleepSockets, type SleepPort } from './sleep-sockets.ts';

export interface SleepListenerDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly sessions: SleepAdmissions;
  readonly telemetry: SleepTelemetry;
  /** Descriptors of devices at other listeners. Together with the sessions here they stay below the process's limit. */
  otherSockets(): number;
  readonly port: SleepPort;
}

export class SleepListener implements SleepFront {
  readonly sockets: SleepSockets;
  readonly #context: SleepListenerContext;
  readonly #connections: DeviceConnections<SleepEndReason>;
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #deps: SleepListenerDeps;
  #address: ListenAddress | null = null;
  #connectionsMax = 0;
  #stopTurning: Cancel | null = null;
  readonly #hasRoom = (): boolean => this.sessionCount < this.#sessionsMaxNow;

  /** Throws when the TLS files are invalid. */
  constructor(settings: SleepSettings, deps: SleepListenerDeps) {
    const { clock, log } = deps;
    const connections = new DeviceConnections<SleepEndReason>(
      clock,
      log,
      'sleep logins: refused as busy: registry unreadable',
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

  /** Resolves when connections are accepted; rejects when the address cannot be bound. */
  async listen(): Promise<void> {
    const { clock, settings, log, maxSessions } = this.#context;
    if (maxSessions < settings.max_sessions)
      log.info(
        { max_sessions: maxSessions, asked: settings.max_sessions },
        'sleep: max_sessions reduced: open file limit is too low',
      );
    this.#turn();
    this.#address = await this.sockets.open(this.#deps.port, settings.listen);
    this.#stopTurning = clock.every(deviceTickMs, () => this.#turn());
  }

  /** The bound address, also for port 0. Valid once it listens, and kept after it has closed. */
  get address(): ListenAddress {
    assert(this.#address !== null, 'a listener has an address once it listens');
    return this.#address;
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

  /** Open descriptors, including refused connections that still read their refusal. */
  get socketCount(): number {
    return this.sessionCount + this.#context.pending.size;
  }

  /** Reloads the certificate for new connections. Throws, and changes nothing, when its files are invalid. */
  reloadTls(): void {
    const certificate = readCertificate(tlsFiles(this.#context.settings));
    this.#context.secureContext = certificate?.secureContext ?? null;
  }

  /**
   * Stops accepting, refuses pending logins, and ends sessions at the rate. Resolves, after `deadlineMs` at the latest, with the
   * number of sessions still open; the kernel closes those with the process.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    void this.sockets.close();
    this.#context.admission.close();
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  /** Less than `maxSessions` while other listeners use up the open file limit. */
  get #sessionsMaxNow(): number {
    return Math.min(this.#context.maxSessions, this.#socketsMax - this.#deps.otherSockets());
  }

  /** Closes all sockets without a message, and resolves when the port is free. */
  close(): Promise<void> {
    const closed = this.sockets.close();
    this.#context.admission.close();
    this.#connections.drop();
    this.#stopTurning?.();
    return closed;
  }

  #accept(socket: Socket): void {
    this.sockets.balance(this.#hasRoom);
    const { unproved, clock, telemetry } = this.#context;
    const address = this.#addressOf(socket);
    const limits = { max: this.#connectionsMax - this.sessionCount, perAddressMax: 0 };
    if (unproved.makeRoom(address, clock.monotonicMs(), limits, (evicted) => evicted.evict()))
      return new Handshake(socket, address, this.#context).start();
    telemetry.sleepLogin('busy');
    socket.destroy();
  }

  /** Empty where there is no limit per address, or when the peer has disconnected already. */
  #addressOf(socket: Socket): string {
    const { admission, settings } = this.#context;
    return admission.countsAddresses && !settings.proxy_protocol ? addressKey(askAddress(socket)) : '';
  }

  #turn(): void {
    this.sockets.balance(this.#hasRoom);
    this.#connections.turn();
    this.#context.admission.turn();
    this.#connectionsMax = Math.max(0, this.#sessionsMaxNow) + handshakeSocketsReserved;
  }
}
