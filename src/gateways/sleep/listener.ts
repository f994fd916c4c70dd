/**
 * The sleep port: accepts connections, or is handed them where several processes have one port, starts their handshakes, turns the two deadline wheels, and at the end
 * drains. It knows how many there are; what each does is its own. Source: sleep-wire.md; running.md, Stopping.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel } from '../../lib/deadline-wheel.ts';
import { descriptorsReserved, handshakeSocketsReserved, sleepAcceptBacklog } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SleepSessions } from '../../core/ports/sleep-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { Admission } from './admission.ts';
import { drain } from '../../lib/drain.ts';
import type { Arrival, Gatehouse, Sleeper } from './gatehouse.ts';
import { Handshake } from './handshake.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { readCertificate } from '../../lib/tls-files.ts';
import type { SleepGatewaySettings } from './settings.ts';

/** Half a second: a deadline is noticed within two ticks, so within the 2 s it may be late, with room to spare. */
const tickMs = 500;
const failureReportMs = 1000;

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface SleepListenerHouse {
  readonly clock: Clock;
  readonly sessions: SleepSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners' devices hold: with the sessions here they stay below the process's limit. */
  otherSockets?(): number;
  /** Another process accepts connections at the address, and they come by `take`. */
  readonly isHanded?: boolean;
}

export class SleepListener {
  readonly #gatehouse: Gatehouse;
  /** Null: connections are handed over. */
  readonly #server: Server | null;
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #otherSockets: () => number;
  #address: ListenAddress | null = null;
  #isOpen = false;
  #stopTurning: Cancel | null = null;
  #failureReportedMs = -Infinity;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: SleepGatewaySettings, house: SleepListenerHouse) {
    const { clock } = house;
    const nowMs = clock.monotonicMs();
    this.#otherSockets = () => house.otherSockets?.() ?? 0;
    this.#gatehouse = {
      ...house,
      settings,
      maxSessions: Math.min(settings.maxSessions, this.#socketsMax),
      hasRoom: () => this.#gatehouse.sleepers.size < this.#sessionsMaxNow,
      admission: new Admission(settings, clock),
      arrivals: new DeadlineWheel<Arrival>(tickMs, nowMs, (arrival) => arrival.expire()),
      sleepers: new DeadlineWheel<Sleeper>(tickMs, nowMs, (sleeper) => sleeper.expire()),
      secureContext: readCertificate(settings.tls)?.secureContext ?? null,
      reportAdmitFailure: (error) => this.#reportAdmitFailure(error),
    };
    this.#server = house.isHanded === true ? null : this.#createServer();
  }

  /** Resolves when connections are accepted; rejects when the address cannot be had. */
  listen(): Promise<void> {
    const { clock, settings, log, maxSessions } = this.#gatehouse;
    if (maxSessions < settings.maxSessions)
      log.info(
        { maxSessions, asked: settings.maxSessions },
        'the open files limit bounds the sleep sessions',
      );
    const { host, port } = settings;
    const open = (address: ListenAddress): void => {
      this.#address = address;
      this.#isOpen = true;
      this.#stopTurning = clock.every(tickMs, () => this.#turn());
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
    const { telemetry } = this.#gatehouse;
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
    return this.#gatehouse.maxSessions;
  }

  get sessionCount(): number {
    return this.#gatehouse.sleepers.size;
  }

  get handshakeCount(): number {
    return this.#gatehouse.admission.inside;
  }

  get waitingCount(): number {
    return this.#gatehouse.admission.waiting;
  }

  /** Descriptors held. */
  get socketCount(): number {
    return this.sessionCount + this.handshakeCount + this.waitingCount;
  }

  /** Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in order. */
  reloadTls(): void {
    const certificate = readCertificate(this.#gatehouse.settings.tls);
    this.#gatehouse.secureContext = certificate?.secureContext ?? null;
  }

  /**
   * Accepts no more, refuses logins under way, and ends sessions at the rate. What is left after `deadlineMs`
   * stays as it is, for the kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    const { admission, arrivals, sleepers, clock } = this.#gatehouse;
    this.#isOpen = false;
    this.#server?.close();
    admission.close();
    for (const arrival of arrivals.pick(Infinity)) arrival.turnAway();
    return drain(sleepers, clock, ratePerSecond, deadlineMs, (sleeper) => sleeper.end('drain'));
  }

  /** Fewer while others hold what the limit of open files allows. */
  get #sessionsMaxNow(): number {
    return Math.min(this.#gatehouse.maxSessions, this.#socketsMax - this.#otherSockets());
  }

  get #connectionsMax(): number {
    return Math.max(0, this.#sessionsMaxNow) + handshakeSocketsReserved;
  }

  /** Closes every socket that is left, telling nobody, and resolves when the port is free. */
  close(): Promise<void> {
    const { admission, arrivals, sleepers } = this.#gatehouse;
    this.#isOpen = false;
    const server = this.#server;
    const closed = server && new Promise<void>((resolve) => server.close(() => resolve()));
    admission.close();
    for (const connection of [...arrivals.pick(Infinity), ...sleepers.pick(Infinity)]) connection.drop();
    this.#stopTurning?.();
    return closed ?? Promise.resolve();
  }

  #createServer(): Server {
    const { maxSessions, telemetry } = this.#gatehouse;
    const server = createServer({ noDelay: true, keepAlive: false }, (socket) => this.#accept(socket));
    server.maxConnections = maxSessions + handshakeSocketsReserved;
    server.on('drop', () => telemetry.sleepLogin('busy'));
    return server;
  }

  #accept(socket: Socket): void {
    new Handshake(socket, this.#gatehouse).start();
  }

  #turn(): void {
    const nowMs = this.#gatehouse.clock.monotonicMs();
    this.#gatehouse.arrivals.turn(nowMs);
    this.#gatehouse.sleepers.turn(nowMs);
    if (this.#server !== null) this.#server.maxConnections = this.#connectionsMax;
  }

  #reportAdmitFailure(error: unknown): void {
    const nowMs = this.#gatehouse.clock.monotonicMs();
    if (nowMs - this.#failureReportedMs < failureReportMs) return;
    this.#failureReportedMs = nowMs;
    this.#gatehouse.log.error({ error: String(error) }, 'sleep logins cannot be judged');
  }
}

function addressOf(server: Server): ListenAddress {
  const address = server.address();
  assert(address !== null && typeof address === 'object', 'a listener has an address while it listens');
  return { host: address.address, port: address.port };
}
