/** The sleep port of a core without edges, or of an edge: the server's own connection classes on simulated wires. */
import type { Admission, SessionTicket, SleepAdmissions } from '../../src/core/ports/device-sessions.ts';
import { SleepingConnection } from '../../src/edge/sleeping-connection.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import type { Cancel, Clock } from '../../src/lib/clock.ts';
import { DeviceConnections, deviceTickMs } from '../../src/lib/connections/device-connections.ts';
import type { Log } from '../../src/lib/log.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { SleepEndReason } from '../../src/model/sleep.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';
import type { SleepTelemetry } from '../../src/telemetry/telemetry.ts';
import { SimulatedSleepSocket, type Wire } from './wires.ts';

export const sessionKey = 'k'.repeat(32);

export interface GatewayObserver {
  opened(kind: 'sleep' | 'signal', ticket: SessionTicket, wire: Wire): void;
  refused(): void;
  /** The 8 bytes of a wakeup were written to the kernel. */
  written(wire: Wire, hex: string): void;
  closed(ticket: SessionTicket, reason: SleepEndReason): void;
}

export interface ModuleLogin {
  readonly deviceId: DeviceId;
  readonly secret: string;
  readonly heartbeatSeconds: number;
}

export interface SleepGatewayDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: SleepTelemetry;
  readonly settings: SleepSettings;
  readonly sessions: SleepAdmissions<Admission | Promise<Admission>>;
}

/** Maximum milliseconds of a drain; remaining connections end with the process. */
export const drainMsMax = 30_000;
export const drainPerSecond = 2000;

export class SleepGateway {
  readonly #deps: SleepGatewayDeps;
  readonly #connections: DeviceConnections<SleepEndReason>;
  #stop: Cancel = () => undefined;
  #isOpen = false;

  constructor(deps: SleepGatewayDeps) {
    this.#deps = deps;
    this.#connections = new DeviceConnections(deps.clock, deps.log, 'sleep logins cannot be verified');
  }

  get sessionCount(): number {
    return this.#connections.openConnections.size;
  }

  open(): void {
    this.#stop();
    this.#isOpen = true;
    this.#stop = this.#deps.clock.every(deviceTickMs, () => this.#connections.turn());
  }

  login(wire: Wire, { deviceId, secret, heartbeatSeconds }: ModuleLogin, observer: GatewayObserver): void {
    const socket = new SimulatedSleepSocket(wire, (hex) => observer.written(wire, hex));
    if (!this.#isOpen) return socket.destroy();
    const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} custom ${heartbeatSeconds} 1`;
    const { openConnections } = this.#connections;
    const connection = new ObservedConnection(socket, { ...this.#deps, openConnections }, heartbeatSeconds);
    connection.observer = observer;
    const mac = computeLoginMac(secret, sessionKey, signedText);
    const login = {
      deviceId,
      wakeMode: 'custom',
      heartbeatSeconds,
      wantsReply: true,
      mac,
      signedText,
    } as const;
    const answer = this.#deps.sessions.admit(login, sessionKey, connection, true, () => '');
    wire.accept({
      received: (data) => connection.received(Buffer.from(data)),
      ended: (isReset) => (isReset ? connection.failed() : connection.peerEnded()),
    });
    const answered = (ticket: Admission): void => {
      if (ticket === 'busy' || ticket === 'denied') {
        observer.refused();
        return socket.destroy();
      }
      observer.opened('sleep', ticket, wire);
      connection.fallAsleep(ticket, true, 0);
    };
    if (answer instanceof Promise) void this.#await(answer, connection).then(answered);
    else answered(answer);
  }

  drain(): Promise<number> {
    this.#isOpen = false;
    return this.#connections.drain(drainPerSecond, drainMsMax);
  }

  drop(): void {
    this.#isOpen = false;
    this.#stop();
    this.#connections.drop();
  }

  /** Like a handshake, refuses the login if no core answers in time. */
  #await(answer: Promise<Admission>, connection: SleepingConnection): Promise<Admission> {
    const { clock, settings } = this.#deps;
    const cancel = clock.after(settings.login_deadline_ms, () => connection.end('node_lost'));
    return answer.finally(cancel);
  }
}

class ObservedConnection extends SleepingConnection {
  observer: GatewayObserver | null = null;

  override end(reason: SleepEndReason): void {
    const { observer } = this;
    this.observer = null;
    super.end(reason);
    this.observer = observer;
  }

  override close(reason: SleepEndReason): void {
    if (this.ticket !== null) this.observer?.closed(this.ticket, reason);
    super.close(reason);
  }
}
