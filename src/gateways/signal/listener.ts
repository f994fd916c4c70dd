/**
 * The signal listener: accepts upgrades, starts their handshakes, counts connections, and drains at the end.
 * Source: signal-wire.md; running.md, Stopping.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { IncomingMessage } from 'node:http';
import { addressKey } from '../../lib/connections/address-key.ts';
import { BoundedServer, endBare, type BareAnswer } from '../../lib/connections/bounded-server.ts';
import type { Cancel } from '../../lib/clock.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { tlsFiles } from '../../lib/connections/tls-files.ts';
import { descriptorsReserved, handshakeSocketsReserved } from '../../model/limits.ts';
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

export interface SignalListenerDeps extends WelcomeSources, Pick<CoreDeps, 'clock' | 'log'> {
  readonly sessions: SignalSessions;
  readonly telemetry: Telemetry;
  otherSockets(): number;
}

export class SignalListener {
  readonly #context: SignalListenerContext;
  readonly #connections: DeviceConnections<SignalEndReason>;
  readonly #deps: SignalListenerDeps;
  /** Maximum number of descriptors for sessions, handshakes and the other listeners. */
  readonly #socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  readonly #server: BoundedServer;
  #stopTurning: Cancel | null = null;
  #isOpen = true;

  /** Throws if TLS is configured and its files are invalid. */
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
        // Not needed: sessions have heartbeats, and all other connections a deadline.
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

  /** Resolves when it accepts connections; rejects if the address is unavailable or another server uses it. */
  async listen(): Promise<void> {
    const { listen } = this.#context.settings;
    await this.#server.listen(listen.host, listen.port);
    this.#stopTurning = this.#context.clock.every(deviceTickMs, () => this.#connections.turn());
  }

  /** The actual address, also for port 0; port 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#context.settings.listen.host, port: this.#server.port };
  }

  get sessionCount(): number {
    return this.#context.openConnections.size;
  }

  get handshakeCount(): number {
    return this.#context.pending.size;
  }

  /** Open descriptors, including peers without a request yet and dismissed ones. */
  get socketCount(): number {
    return this.#server.connectionCount;
  }

  /** Reads the certificate for new connections. Throws, and changes nothing, if its files are invalid. */
  reloadTls(): void {
    this.#server.reloadTls();
  }

  /**
   * Stops accepting connections, refuses pending logins, and ends sessions at the rate. Resolves at the end or after `deadlineMs`
   * to the number of remaining connections, which the kernel closes with the process.
   */
  drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    this.#server.stopListening();
    return this.empty(ratePerSecond, deadlineMs);
  }

  /** As `drain`, when another process takes over the port; logins are refused as by a full server until `reopen`. */
  empty(ratePerSecond: number, deadlineMs: number): Promise<number> {
    this.#isOpen = false;
    return this.#connections.drain(ratePerSecond, deadlineMs);
  }

  reopen(): void {
    this.#isOpen = true;
  }

  /** Destroys all remaining sockets without a close frame, and frees the port. */
  close(): void {
    this.#isOpen = false;
    this.#connections.drop();
    this.#server.close();
    this.#stopTurning?.();
    this.#stopTurning = null;
  }

  /** Descriptors available to connections without an upgrade. */
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

  /** Sessions leave some descriptors to logins, so that a login can still replace a session. */
  #hasRoom(): boolean {
    const { settings } = this.#context;
    const held = this.sessionCount + this.#deps.otherSockets();
    return this.sessionCount < settings.max_sessions && held + handshakeSocketsReserved < this.#socketsMax;
  }
}
