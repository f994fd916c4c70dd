/**
 * The signal listener: takes connections, starts their handshakes, turns the two deadline wheels, and at the end
 * drains. It knows how many there are; what each does is its own. Source: signal-wire.md; running.md, Stopping.
 */
import { addressKey } from '../../lib/address-key.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { DeadlineWheel } from '../../lib/deadline-wheel.ts';
import { drain } from '../../lib/drain.ts';
import { remoteAddress } from '../../lib/http-connections.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { ListeningApps } from '../../lib/listening-apps.ts';
import type { HttpResponse } from '../../lib/uws.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SignalSessions } from '../../core/ports/signal-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { Doorway } from './doorway.ts';
import type { Arrival, Attendee, Gatehouse } from './gatehouse.ts';
import { Handshake } from './handshake.ts';
import type { SignalGatewaySettings } from './settings.ts';
import { sleepAdvice } from './sleep-advice.ts';
import { SocketCensus } from './socket-census.ts';
import { furnishWebSocketApp, type WebSocketAppHouse } from './web-socket-app.ts';

/** Half a second: a deadline is noticed within two ticks. */
const tickMs = 500;
const failureReportMs = 1000;

export interface SignalListenerHouse {
  readonly clock: Clock;
  readonly sessions: SignalSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** `host:port` of the sleep servers, in the order to try; asked for every welcome. */
  sleepServers(): readonly string[];
  /** Descriptors that other listeners hold. */
  otherSockets(): number;
}

export class SignalListener {
  readonly #gatehouse: Gatehouse;
  readonly #house: SignalListenerHouse;
  /** Descriptors that sessions, handshakes and the other listeners may hold together. */
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #apps: ListeningApps;
  #stopTurning: Cancel | null = null;
  #isOpen = true;
  #failureReportedMs = -Infinity;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: SignalGatewaySettings, house: SignalListenerHouse) {
    const { clock } = house;
    const nowMs = clock.monotonicMs();
    this.#house = house;
    this.#gatehouse = {
      ...house,
      settings,
      census: new SocketCensus(settings, tickMs),
      arrivals: new DeadlineWheel<Arrival>(tickMs, nowMs, (arrival) => arrival.expire()),
      attendees: new DeadlineWheel<Attendee>(tickMs, nowMs, (attendee) => attendee.expire()),
      hasRoom: () => this.#hasRoom(),
      sleepAdvice: () => sleepAdvice(house.sleepServers()),
      reportFailure: (error) => this.#reportFailure(error),
    };
    const appHouse: WebSocketAppHouse = {
      doorway: new Doorway({
        addressOf: (response) => this.#addressOf(response),
        admitsHandshake: (address) => this.#admitsHandshake(address),
        turnedAway: (address) => this.#gatehouse.census.requested(address),
      }),
      connected: (response) => this.#mayStay(response),
      disconnected: () => this.#gatehouse.census.disconnected(),
      opened: (socket, tag) => new Handshake(socket, tag, this.#gatehouse).start(),
    };
    this.#apps = new ListeningApps(settings, (app) => furnishWebSocketApp(app, appHouse));
  }

  /** Resolves when connections are taken; rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    await this.#apps.listen();
    this.#stopTurning = this.#gatehouse.clock.every(tickMs, () => this.#turn());
  }

  /** The real one, also when port 0 was asked for; 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#gatehouse.settings.host, port: this.#apps.port };
  }

  get sessionCount(): number {
    return this.#gatehouse.attendees.size;
  }

  get handshakeCount(): number {
    return this.#gatehouse.arrivals.size;
  }

  /** Descriptors held, those of peers included that have not asked for anything yet or were told to go. */
  get socketCount(): number {
    return this.sessionCount + this.#gatehouse.census.sockets;
  }

  /** Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in order. */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /**
   * Takes no more connections, refuses logins under way, and ends sessions at the rate. What is left after
   * `deadlineMs` stays as it is, for the kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    const { arrivals, attendees, clock } = this.#gatehouse;
    this.#isOpen = false;
    this.#apps.stopListening();
    for (const arrival of arrivals.pick(Infinity)) arrival.turnAway();
    return drain(attendees, clock, ratePerSecond, deadlineMs, (attendee) => attendee.end('drain'));
  }

  /** Closes every socket that is left, telling nobody, and frees the port. */
  close(): void {
    const { arrivals, attendees } = this.#gatehouse;
    this.#isOpen = false;
    this.#apps.stopListening();
    for (const connection of [...arrivals.pick(Infinity), ...attendees.pick(Infinity)]) connection.drop();
    this.#apps.close();
    this.#stopTurning?.();
    this.#stopTurning = null;
  }

  /** False: a socket that just came is one too many. */
  #mayStay(response: HttpResponse): boolean {
    const isOneOfFew = this.#gatehouse.census.connected(this.#addressOf(response));
    return isOneOfFew && !this.#isCrowded(handshakeSocketsReserved);
  }

  #addressOf(response: HttpResponse): string {
    if (this.#gatehouse.settings.handshakesPerAddressMax === 0) return '';
    return addressKey(remoteAddress(response));
  }

  #admitsHandshake(address: string): boolean {
    const { census, telemetry } = this.#gatehouse;
    census.requested(address);
    if (this.#isOpen && census.hasPlace(address) && !this.#isCrowded(0)) return true;
    telemetry.signalLogin('busy');
    return false;
  }

  /** More descriptors are held than may be, `spare` allowed beside them. */
  #isCrowded(spare: number): boolean {
    return this.socketCount + this.#house.otherSockets() > this.#socketsMax + spare;
  }

  /** Sessions leave the descriptors that logins need, so that one that replaces a session can still be made. */
  #hasRoom(): boolean {
    const { settings } = this.#gatehouse;
    const held = this.sessionCount + this.#house.otherSockets();
    return this.sessionCount < settings.maxSessions && held + handshakeSocketsReserved < this.#socketsMax;
  }

  #turn(): void {
    const { clock, arrivals, attendees, census } = this.#gatehouse;
    const nowMs = clock.monotonicMs();
    arrivals.turn(nowMs);
    attendees.turn(nowMs);
    census.turn();
  }

  #reportFailure(error: unknown): void {
    const nowMs = this.#gatehouse.clock.monotonicMs();
    if (nowMs - this.#failureReportedMs < failureReportMs) return;
    this.#failureReportedMs = nowMs;
    this.#gatehouse.log.error({ error: String(error) }, 'signal logins cannot be judged');
  }
}
