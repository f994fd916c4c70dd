/** The sleep and the signal gateway of one process: the server's own connections, on wires instead of sockets. */
import { signalSessions, sleepSessions } from '../../src/core/devices/admit-session.ts';
import type {
  Admission,
  SessionTicket,
  SignalSessions,
  SleepSessions,
} from '../../src/core/ports/device-sessions.ts';
import { reportWake } from '../../src/core/wakeups/wakeup-watch.ts';
import { DeviceConnections, deviceTickMs } from '../../src/lib/connections/device-connections.ts';
import { SignalingConnection } from '../../src/gateways/signal/signaling-connection.ts';
import { SleepingConnection } from '../../src/edge/sleeping-connection.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { SignalEndReason } from '../../src/model/signal.ts';
import type { SleepEndReason } from '../../src/model/sleep.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import { SimulatedFrameSocket, SimulatedSleepSocket, type Wire } from './wires.ts';

const sessionKey = 'k'.repeat(32);

/** Told of what a process does for its devices. */
export interface GatewayObserver {
  /** A session was admitted on this wire. */
  opened(kind: 'sleep' | 'signal', ticket: SessionTicket, wire: Wire): void;
  /** The kernel has taken the 8 bytes of a wakeup. */
  written(wire: Wire, hex: string): void;
}

/** Milliseconds until a drain leaves what is open to the end of the process. */
const drainMsMax = 30_000;
const drainPerSecond = 2000;

export class DeviceGateway {
  readonly #context: ServerContext;
  readonly #sleep: SleepSessions<Admission>;
  readonly #signal: SignalSessions;
  readonly #sleepConnections: DeviceConnections<SleepEndReason>;
  readonly #signalConnections: DeviceConnections<SignalEndReason>;
  #stop: Cancel = () => undefined;
  #isOpen = false;

  constructor(context: ServerContext) {
    const { clock, log, records } = context;
    this.#context = context;
    const wakeups = {
      reported: (...reported: [DeviceId, SessionId, never]) => reportWake(context, ...reported),
    };
    const admission = { ...context, wakeups, loginsAreClosed: records.loginsAreClosed };
    this.#sleep = sleepSessions(admission);
    this.#signal = signalSessions(admission);
    this.#sleepConnections = new DeviceConnections(clock, log, 'sleep logins cannot be verified');
    this.#signalConnections = new DeviceConnections(clock, log, 'signal logins cannot be verified');
  }

  get listeners(): { readonly sleep: { sessionCount: number }; readonly signal: { sessionCount: number } } {
    const [sleep, signal] = [this.#sleepConnections, this.#signalConnections];
    return {
      sleep: {
        get sessionCount() {
          return sleep.openConnections.size;
        },
      },
      signal: {
        get sessionCount() {
          return signal.openConnections.size;
        },
      },
    };
  }

  start(): Cancel {
    this.#isOpen = true;
    this.#stop = this.#context.clock.every(deviceTickMs, () => {
      this.#sleepConnections.turn();
      this.#signalConnections.turn();
    });
    return this.#stop;
  }

  sleepLogin(
    wire: Wire,
    { deviceId, secret, heartbeatSeconds }: { deviceId: DeviceId; secret: string; heartbeatSeconds: number },
    observer: GatewayObserver,
  ): void {
    const socket = new SimulatedSleepSocket(wire, (hex) => observer.written(wire, hex));
    if (!this.#isOpen) return socket.destroy();
    const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} custom ${heartbeatSeconds} 1`;
    const { settings, clock, telemetry } = this.#context;
    const { openConnections } = this.#sleepConnections;
    const deps = { clock, telemetry, settings: settings.sleep, sessions: this.#sleep, openConnections };
    const connection = new SleepingConnection(socket, deps, heartbeatSeconds);
    const mac = computeLoginMac(secret, sessionKey, signedText);
    const login = {
      deviceId,
      wakeMode: 'custom',
      heartbeatSeconds,
      wantsReply: true,
      mac,
      signedText,
    } as const;
    const ticket = this.#sleep.admit(login, sessionKey, connection, true, () => '');
    if (ticket === 'busy' || ticket === 'denied') return socket.destroy();
    wire.accept({
      received: (data) => connection.received(Buffer.from(data)),
      ended: (isReset) => (isReset ? connection.failed() : connection.peerEnded()),
    });
    observer.opened('sleep', ticket, wire);
    connection.fallAsleep(ticket, true, 0);
  }

  signalLogin(
    wire: Wire,
    { deviceId, secret }: { deviceId: DeviceId; secret: string },
    observer: GatewayObserver,
  ): void {
    const socket = new SimulatedFrameSocket(wire);
    if (!this.#isOpen) return socket.terminate();
    const { clock, telemetry } = this.#context;
    const { openConnections, reportFailure } = this.#signalConnections;
    const connection = new SignalingConnection(socket, {
      clock,
      telemetry,
      openConnections,
      reportFailure,
      sessions: this.#signal,
      sleepServers: () => [],
      mediaUrl: () => null,
    });
    const login = { deviceId, mac: computeSignalMac(secret, sessionKey, deviceId), media: null };
    const ticket = this.#signal.admit(login, sessionKey, connection, true, () => '');
    if (ticket === 'busy' || ticket === 'denied') return socket.terminate();
    wire.accept({
      received: (data) => connection.received(Buffer.from(data), false),
      ended: (isReset) => {
        wire.isServerClosed = true;
        connection.gone(isReset ? 'reset' : 'peer_closed');
      },
    });
    observer.opened('signal', ticket, wire);
    connection.enter(ticket);
  }

  async drain(): Promise<void> {
    this.#isOpen = false;
    await Promise.all([
      this.#sleepConnections.drain(drainPerSecond, drainMsMax),
      this.#signalConnections.drain(drainPerSecond, drainMsMax),
    ]);
  }

  drop(): void {
    this.#isOpen = false;
    this.#stop();
    this.#sleepConnections.drop();
    this.#signalConnections.drop();
  }
}
