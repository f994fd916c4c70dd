/**
 * The sleep port: accepts connections, or is handed them where several processes have one port, starts their handshakes,
 * and at the end drains. It knows how many there are; what each does is its own. Source: sleep-wire.md; running.md, Stopping.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { descriptorsReserved, handshakeSocketsReserved, sleepAcceptBacklog } from '../../model/limits.ts';
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

export interface SleepListenerDeps {
  readonly clock: Clock;
  readonly sessions: SleepSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners' devices hold: with the sessions here they stay below the process's limit. */
  otherSockets(): number;
  /** True: another process accepts connections at the address, and they come by `take`. */
  readonly isHanded: boolean;
}

export class SleepListener {
  readonly #context: SleepListenerContext;
  readonly #connections: DeviceConnections<SleepEndReason>;
  /** Null: connections are handed over. */
  readonly #server: Server | null;
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #deps: SleepListenerDeps;
  #address: ListenAddress | null = null;
  #isOpen = false;
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
    this.#server = deps.isHanded ? null : this.#createServer();
  }

  /** Resolves when connections are accepted; rejects when the address cannot be had. */
  listen(): Promise<void> {
    const { clock, settings, log, maxSessions } = this.#context;
    if (maxSessions < settings.max_sessions)
      log.info(
        { max_sessions: maxSessions, asked: settings.max_sessions },
        'the open files limit bounds the sleep sessions',
      );
    const { host, port } = settings.listen;
    const open = (address: ListenAddress): void => {
      this.#address = address;
      this.#isOpen = true;
      this.#stopTurning = clock.every(deviceTickMs, () => this.#turn());
    };
    const server = this.#server;
    if (server === null) return Promise.resolve(open({ host, port }));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: sleepAcceptBacklog }, () => {
        server.off('error', reject);
        open(addressOf(server));
        server.on('error', (error) => log.error({ error: error.message }, 'the sleep listener failed'));
        resolve();
      });
    });
  }

  /** A connection that another process has accepted, and nobody has read. */
  take(socket: Socket): void {
    const { telemetry } = this.#context;
    if (this.#isOpen && this.socketCount < this.#connectionsMax) return this.#accept(socket);
    if (this.#isOpen) telemetry.sleepLogin('busy');
    socket.destroy();
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

  /** Descriptors held. */
  get socketCount(): number {
    return this.sessionCount + this.handshakeCount + this.waitingCount;
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
    this.#isOpen = false;
    this.#server?.close();
    this.#context.admission.close();
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  /** Fewer while others hold what the limit of open files allows. */
  get #sessionsMaxNow(): number {
    return Math.min(this.#context.maxSessions, this.#socketsMax - this.#deps.otherSockets());
  }

  get #connectionsMax(): number {
    return Math.max(0, this.#sessionsMaxNow) + handshakeSocketsReserved;
  }

  /** Closes every socket that is left, telling nobody, and resolves when the port is free. */
  close(): Promise<void> {
    this.#isOpen = false;
    const server = this.#server;
    const closed = server && new Promise<void>((resolve) => server.close(() => resolve()));
    this.#context.admission.close();
    this.#connections.drop();
    this.#stopTurning?.();
    return closed ?? Promise.resolve();
  }

  #createServer(): Server {
    const { maxSessions, telemetry } = this.#context;
    const server = createServer({ noDelay: true, keepAlive: false }, (socket) => this.#accept(socket));
    server.maxConnections = maxSessions + handshakeSocketsReserved;
    server.on('drop', () => telemetry.sleepLogin('busy'));
    return server;
  }

  #accept(socket: Socket): void {
    new Handshake(socket, this.#context).start();
  }

  #turn(): void {
    this.#connections.turn();
    if (this.#server !== null) this.#server.maxConnections = this.#connectionsMax;
  }
}

function addressOf(server: Server): ListenAddress {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a listener has an address while it listens');
  return { host: address.address, port: address.port };
}
