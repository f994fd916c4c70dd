/**
 * The signal listener: takes connections, starts their handshakes, and at the end drains. It knows how many there are; what
 * each does is its own. Source: signal-wire.md; running.md, Stopping.
 */
import { addressKey, remoteAddress } from '../../lib/connections/address-key.ts';
import { HttpConnections } from '../../lib/connections/http-connections.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { ListeningApps, type HttpResponse } from '../../lib/uws.ts';
import { tlsFiles } from '../../model/settings-values.ts';
import { addressesCountedMax, descriptorsReserved, handshakeSocketsReserved } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { SignalSessions } from '../../core/ports/device-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { UpgradeHandler, furnishWebSocketApp, type WebSocketAppDeps } from './web-socket-app.ts';
import type { SignalEndReason } from '../../model/signal.ts';
import { DeviceConnections, deviceTickMs } from '../devices/device-connections.ts';
import type { SignalListenerContext } from './signaling-connection.ts';
import { Handshake } from './handshake.ts';
import type { SignalSettings } from './settings.ts';
import { SocketCensus } from './socket-census.ts';
import type { WelcomeSources } from './welcome.ts';

export interface SignalListenerDeps extends WelcomeSources {
  readonly clock: Clock;
  readonly sessions: SignalSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners hold. */
  otherSockets(): number;
  /** True: other processes of this server listen on the port, too. */
  readonly sharesPort: boolean;
}

export class SignalListener {
  readonly #context: SignalListenerContext;
  readonly #connections: DeviceConnections<SignalEndReason>;
  readonly #deps: SignalListenerDeps;
  /** Descriptors that sessions, handshakes and the other listeners may hold together. */
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  /** The sockets that are not upgraded. */
  readonly #plain: HttpConnections;
  readonly #apps: ListeningApps;
  #stopTurning: Cancel | null = null;
  #isOpen = true;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: SignalSettings, deps: SignalListenerDeps) {
    const connections = new DeviceConnections<SignalEndReason>(
      deps.clock,
      deps.log,
      'cannot verify signal logins, or not store them',
    );
    this.#connections = connections;
    this.#deps = deps;
    this.#context = {
      ...deps,
      settings,
      census: new SocketCensus(deviceTickMs),
      pending: connections.pending,
      unproved: connections.unproved,
      openConnections: connections.openConnections,
      hasRoom: () => this.#hasRoom(),
      reportFailure: connections.reportFailure,
    };
    const { handshakes_max: max, handshakes_per_address_max: perAddressMax } = settings;
    this.#plain = new HttpConnections(
      { max: () => Math.min(max, this.#freeSockets), perAddressMax, isStrict: true },
      addressesCountedMax,
      deviceTickMs,
    );
    const appDeps: WebSocketAppDeps = {
      upgradeHandler: new UpgradeHandler({
        addressOf: (response) => this.#addressOf(response),
        admitsHandshake: (address) => this.#admitsHandshake(address),
      }),
      connections: this.#plain,
      opened: (socket, tag) => {
        this.#plain.upgraded(tag.address);
        new Handshake(socket, tag, this.#context).start();
      },
    };
    this.#apps = new ListeningApps(
      { ...settings.listen, tls: tlsFiles(settings), sharesPort: deps.sharesPort },
      (app) => furnishWebSocketApp(app, appDeps),
    );
  }

  /** Resolves when connections are taken; rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    await this.#apps.listen();
    this.#stopTurning = this.#context.clock.every(deviceTickMs, () => this.#turn());
  }

  /** The real one, also when port 0 was asked for; 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#context.settings.listen.host, port: this.#apps.port };
  }

  get sessionCount(): number {
    return this.#context.openConnections.size;
  }

  get handshakeCount(): number {
    return this.#context.pending.size;
  }

  /** Descriptors held, those of peers included that have not asked for anything yet or were dismissed. */
  get socketCount(): number {
    return this.#plain.count + this.#upgradedCount;
  }

  /**
   * Takes the certificate from its files anew, for connections to come. Throws, and changes nothing, when they are not in
   * order.
   */
  reloadTls(): void {
    this.#apps.reloadTls();
  }

  /**
   * Takes no more connections, refuses logins under way, and ends sessions at the rate. What is left after
   * `deadlineMs` stays as it is, for the kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    this.#isOpen = false;
    this.#apps.stopListening();
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  /** Closes every socket that is left, telling nobody, and frees the port. */
  close(): void {
    this.#isOpen = false;
    this.#apps.stopListening();
    this.#connections.drop();
    this.#apps.close();
    this.#stopTurning?.();
    this.#stopTurning = null;
  }

  get #upgradedCount(): number {
    return this.sessionCount + this.#context.census.sockets;
  }

  /** Descriptors for sockets that are not upgraded. */
  get #freeSockets(): number {
    const held = this.#upgradedCount + this.#deps.otherSockets();
    return Math.max(0, this.#socketsMax + handshakeSocketsReserved - held);
  }

  #addressOf(response: HttpResponse): string {
    if (this.#context.settings.handshakes_per_address_max === 0) return '';
    return addressKey(remoteAddress(response));
  }

  #admitsHandshake(address: string): boolean {
    const { telemetry } = this.#context;
    if (this.#isOpen && this.#makeRoom(address)) return true;
    telemetry.signalLogin('busy');
    return false;
  }

  #makeRoom(address: string): boolean {
    const { settings, unproved, clock } = this.#context;
    const isFull = this.socketCount + this.#deps.otherSockets() > this.#socketsMax;
    const limits = {
      max: isFull ? 0 : settings.handshakes_max,
      perAddressMax: settings.handshakes_per_address_max,
    };
    return unproved.makeRoom(address, clock.monotonicMs(), limits, (evicted) => evicted.evict());
  }

  /** Sessions leave the descriptors that logins need, so that one that replaces a session can still be made. */
  #hasRoom(): boolean {
    const { settings } = this.#context;
    const held = this.sessionCount + this.#deps.otherSockets();
    return this.sessionCount < settings.max_sessions && held + handshakeSocketsReserved < this.#socketsMax;
  }

  #turn(): void {
    this.#connections.turn();
    this.#context.census.turn();
    this.#plain.turn();
  }
}
