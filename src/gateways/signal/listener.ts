/**
 * The signal listener: accepts upgrades, starts their handshakes, and at the end drains. It counts the connections; each keeps
 * its own state. Source: signal-wire.md; running.md, Stopping.
 */
import type { IncomingMessage } from 'node:http';
import { addressKey } from '../../lib/connections/address-key.ts';
import { BoundedServer, endBare, type BareAnswer } from '../../lib/connections/bounded-server.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import type { SignalSessions } from '../../core/ports/device-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { signalRequestBytesMax, signalRequestMsMax, type SignalEndReason } from '../../model/signal.ts';
import { DeviceConnections, deviceTickMs } from '../../lib/connections/device-connections.ts';
import type { SignalListenerContext } from './signaling-connection.ts';
import { Handshake } from './handshake.ts';
import type { SignalSettings } from './settings.ts';
import { noRoom, refusalOfFault, refusalOfPlain, refusalOfUpgrade, subprotocol } from './upgrade.ts';
import { openWebSocket } from './web-socket.ts';
import type { WelcomeSources } from './welcome.ts';

export interface SignalListenerDeps extends WelcomeSources {
  readonly clock: Clock;
  readonly sessions: SignalSessions;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Descriptors that other listeners hold. */
  otherSockets(): number;
}

export class SignalListener {
  readonly #context: SignalListenerContext;
  readonly #connections: DeviceConnections<SignalEndReason>;
  readonly #deps: SignalListenerDeps;
  /** Descriptors that sessions, handshakes and the other listeners may hold together. */
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #server: BoundedServer;
  #stopTurning: Cancel | null = null;
  #isOpen = true;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(settings: SignalSettings, deps: SignalListenerDeps) {
    const connections = new DeviceConnections<SignalEndReason>(
      deps.clock,
      deps.log,
      'signal logins: refused: registry or store unavailable',
    );
    this.#connections = connections;
    this.#deps = deps;
    this.#context = {
      ...deps,
      settings,
      pending: connections.pending,
      unproved: connections.unproved,
      openConnections: connections.openConnections,
      hasRoom: () => this.#hasRoom(),
      reportFailure: connections.reportFailure,
    };
    const { handshakes_max: max, handshakes_per_address_max: perAddressMax } = settings;
    this.#server = new BoundedServer(
      deps.clock,
      {
        tls: tlsFiles(settings),
        headBytesMax: signalRequestBytesMax,
        requestMsMax: signalRequestMsMax,
        keepAliveMs: 0,
        // A session has its heartbeats, and every other connection its deadline.
        tcpProbeMs: 0,
        perAddressMax,
        max: () => Math.min(max, this.#freeSockets),
      },
      {
        requested: (request, response) => {
          const { status, headers, body } = refusalOfPlain(request);
          response.writeHead(status, headers).end(body);
        },
        upgrading: (request, head) => this.#upgrade(request, head),
        answerOf: refusalOfFault,
        failed: (error) => deps.log.error({ error: error.message }, 'signal listener: failed'),
      },
    );
  }

  /** Resolves when connections are accepted; rejects when the address cannot be had, or is another server's. */
  async listen(): Promise<void> {
    const { listen } = this.#context.settings;
    await this.#server.listen(listen.host, listen.port);
    this.#stopTurning = this.#context.clock.every(deviceTickMs, () => this.#connections.turn());
  }

  /** The real one, also when port 0 was asked for; 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#context.settings.listen.host, port: this.#server.port };
  }

  get sessionCount(): number {
    return this.#context.openConnections.size;
  }

  get handshakeCount(): number {
    return this.#context.pending.size;
  }

  /** Descriptors held, also by peers that have not sent a request yet or were dismissed. */
  get socketCount(): number {
    return this.#server.connectionCount;
  }

  /** Reads the certificate for connections to come. Throws, and changes nothing, when its files are not in order. */
  reloadTls(): void {
    this.#server.reloadTls();
  }

  /**
   * Accepts no more connections, refuses logins under way, and ends sessions at the rate. What is left after
   * `deadlineMs` stays as it is, for the kernel to close with the process; resolves with its number.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    this.#server.stopListening();
    return this.empty(ratePerSecond, deadlineMs);
  }

  /** The same for another process that is to have the port; until `reopen` this one refuses logins as a full server does. */
  empty(ratePerSecond: number, deadlineMs: number): Promise<number> {
    this.#isOpen = false;
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  /** Logins are accepted again behind `empty`. */
  reopen(): void {
    this.#isOpen = true;
  }

  /** Closes every socket that is left without notifying anyone, and frees the port. */
  close(): void {
    this.#isOpen = false;
    this.#connections.drop();
    this.#server.close();
    this.#stopTurning?.();
    this.#stopTurning = null;
  }

  /** Descriptors for connections that are not upgraded. */
  get #freeSockets(): number {
    const held = this.socketCount - this.#server.unprovedCount + this.#deps.otherSockets();
    return Math.max(0, this.#socketsMax + handshakeSocketsReserved - held);
  }

  #upgrade(request: IncomingMessage, head: Buffer): void {
    const { socket, method } = request;
    const refusal = refusalOfUpgrade(request) ?? this.#refusalOfHandshake(socket.remoteAddress ?? '');
    if (refusal !== null) return endBare(socket, refusal, method !== 'HEAD');
    this.#server.proved(socket);
    openWebSocket(request, head, subprotocol, (opened) => new Handshake(opened, this.#context).start());
  }

  #refusalOfHandshake(address: string): BareAnswer | null {
    const { telemetry, settings } = this.#context;
    const isPerAddress = settings.handshakes_per_address_max > 0;
    if (this.#isOpen && this.#makeRoom(isPerAddress ? addressKey(address) : '')) return null;
    telemetry.signalLogin('busy');
    return noRoom;
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
}
