/** The gateways of one server: signal, and sleep with its own connections or with edges. */
import { signalSessions, sleepSessions } from '../../src/core/devices/admit-session.ts';
import type { SignalSessions } from '../../src/core/ports/device-sessions.ts';
import { reportWake } from '../../src/core/wakeups/wakeup-watch.ts';
import { EdgeGate } from '../../src/edge/edge-gate.ts';
import { SignalingConnection } from '../../src/gateways/signal/signaling-connection.ts';
import { DeviceConnections, deviceTickMs } from '../../src/lib/connections/device-connections.ts';
import type { Cancel } from '../../src/lib/clock.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import type { SignalEndReason } from '../../src/model/signal.ts';
import { computeSignalMac } from '../../src/protocol/signal/controller-message.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import {
  drainMsMax,
  drainPerSecond,
  sessionKey,
  SleepGateway,
  type GatewayObserver,
  type ModuleLogin,
} from './sleep-gateway.ts';
import { SimulatedFrameSocket, type Wire } from './wires.ts';

export class DeviceGateway {
  /** The gate of the edges that hold the sleep sessions; null: this process holds them. */
  readonly gate: EdgeGate | null;
  readonly #context: ServerContext;
  readonly #sleep: SleepGateway | null;
  readonly #signal: SignalSessions;
  readonly #signalConnections: DeviceConnections<SignalEndReason>;
  #stop: Cancel = () => undefined;
  #isOpen = false;

  constructor(context: ServerContext, hasEdges: boolean) {
    const { clock, log, records, telemetry, settings } = context;
    this.#context = context;
    const wakeups = {
      reported: (...reported: [DeviceId, SessionId, never]) => reportWake(context, ...reported),
    };
    const admission = { ...context, wakeups, loginsAreClosed: records.loginsAreClosed };
    const sessions = sleepSessions(admission);
    const common = { clock, log, telemetry };
    this.#sleep = hasEdges ? null : new SleepGateway({ ...common, settings: settings.sleep, sessions });
    this.gate = hasEdges
      ? new EdgeGate(
          { sleep: settings.sleep, socketPath: null, elsewhere: null },
          {
            ...common,
            sessions: context.unclaimed.claiming(sessions),
            progress: context.progress,
            release: '1.0.0',
          },
        )
      : null;
    this.#signal = signalSessions(admission);
    this.#signalConnections = new DeviceConnections(clock, log, 'signal logins cannot be verified');
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get listeners(): { readonly sleep: { sessionCount: number }; readonly signal: { sessionCount: number } } {
    const [sleep, signal] = [this.gate ?? this.#sleep, this.#signalConnections];
    return {
      sleep: {
        get sessionCount() {
          return sleep?.sessionCount ?? 0;
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
    this.#sleep?.open();
    this.#stop = this.#context.clock.every(deviceTickMs, () => this.#signalConnections.turn());
    return this.#stop;
  }

  sleepLogin(wire: Wire, login: ModuleLogin, observer: GatewayObserver): void {
    this.#sleep?.login(wire, login, observer);
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
        connection.onClosed(isReset ? 'reset' : 'peer_closed');
      },
    });
    observer.opened('signal', ticket, wire);
    connection.enter(ticket);
  }

  async drain(): Promise<void> {
    this.#isOpen = false;
    await Promise.all([
      this.#sleep?.drain() ?? this.gate?.drain(drainPerSecond, drainMsMax),
      this.#signalConnections.drain(drainPerSecond, drainMsMax),
    ]);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#stop();
    this.#sleep?.drop();
    this.#signalConnections.drop();
    await this.gate?.close();
  }
}
