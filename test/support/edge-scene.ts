/** A core with its gate, and edges linked to it in memory, on one clock; modules are connections without sockets. */
import { EdgeEnd } from '../../src/edge/edge-end.ts';
import type { EdgeIdentity, EdgePort } from '../../src/edge/edge-port.ts';
import { EdgeGate } from '../../src/edge/edge-gate.ts';
import { sleepSessions } from '../../src/core/devices/admit-session.ts';
import type { Admission, SessionTicket, SleepSessions } from '../../src/core/ports/device-sessions.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { linkHeartbeatMs } from '../../src/model/limits.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { SleepEndReason, WakeMode } from '../../src/model/sleep.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';
import { DuplexPair } from './duplex-pair.ts';
import { nextTurn } from './event-loop.ts';
import { FakeConnection, FakeTelemetry, testDevice } from './fakes.ts';
import { SessionScene } from './session-scene.ts';

const sessionKey = 'k'.repeat(32);
/** Turns of the event loop until everything sent has been received and answered. */
const settlingTurns = 6;

export async function untilIdle(): Promise<void> {
  for (let turn = 0; turn < settlingTurns; turn += 1) await nextTurn();
}

export interface EdgeLogin {
  readonly deviceId?: DeviceId;
  readonly secret?: string;
  readonly hasRoom?: boolean;
  readonly wakeMode?: WakeMode;
}

export class EdgeModule {
  readonly connection = new FakeConnection();
  answer: Admission | null = null;

  get ticket(): SessionTicket {
    if (this.answer === null || typeof this.answer === 'string')
      throw new Error(`the login was answered ${String(this.answer)}`);
    return this.answer;
  }
}

/** Executes and records the core's orders. */
export class FakeEdgePort implements EdgePort {
  othersHaveRoom: boolean | null = null;
  readonly address = { host: '192.0.2.7', port: 8081 };
  sockets = 3;
  tlsProblem: string | null = null;
  readonly orders: string[] = [];
  left = 0;

  reloadTls(): string | null {
    this.orders.push('reload-tls');
    return this.tlsProblem;
  }

  balance(othersHaveRoom: boolean): void {
    this.othersHaveRoom = othersHaveRoom;
  }

  drain(perSecond: number, deadlineMs: number): Promise<number> {
    this.orders.push(`drain ${perSecond} ${deadlineMs}`);
    return Promise.resolve(this.left);
  }
}

export class SceneEdge {
  readonly end: EdgeEnd;
  readonly port = new FakeEdgePort();
  readonly faults: (string | null)[] = [];
  linkedTimes = 0;
  readonly #scene: EdgeScene;
  readonly #isLocal: boolean;
  #pair: DuplexPair | null = null;

  constructor(scene: EdgeScene, isLocal: boolean, identity: Partial<EdgeIdentity>) {
    this.#scene = scene;
    this.#isLocal = isLocal;
    const { clock } = scene.core;
    this.end = new EdgeEnd({
      clock,
      progress: new LoopProgress(clock),
      identity: {
        name: 'edge-1',
        instance: 'instance-1',
        release: '1.2.3',
        pid: 4711,
        address: { host: '192.0.2.7', port: 0 },
        advertise: [],
        maxSessions: 1000,
        ...identity,
      },
      onLinked: () => (this.linkedTimes += 1),
      onEnd: (fault) => this.faults.push(fault),
    });
  }

  async link(gate = this.#scene.gate): Promise<this> {
    this.#pair = new DuplexPair();
    gate.accept(this.#pair.here, this.#isLocal);
    this.end.attach(this.#pair.there);
    await untilIdle();
    return this;
  }

  async cut(): Promise<void> {
    this.#pair?.there.destroy();
    await untilIdle();
  }

  /** Sends a login; the answer may take long. */
  ask({
    deviceId = testDevice,
    secret = 'device-secret',
    hasRoom = true,
    wakeMode,
  }: EdgeLogin = {}): EdgeModule {
    const module = new EdgeModule();
    const mode = wakeMode ?? 'custom';
    const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} ${mode} 50 0`;
    const mac = computeLoginMac(secret, sessionKey, signedText);
    const login = { deviceId, wakeMode: mode, heartbeatSeconds: 50, wantsReply: false, mac, signedText };
    void this.end
      .admit(login, sessionKey, module.connection, hasRoom, () => '198.51.100.1')
      .then((answer) => (module.answer = answer));
    return module;
  }

  async login(options: EdgeLogin = {}): Promise<EdgeModule> {
    const module = this.ask(options);
    await untilIdle();
    return module;
  }

  async hangUp(module: EdgeModule, reason: SleepEndReason = 'peer_closed'): Promise<void> {
    this.end.ended(module.ticket, reason, module.connection.lastHeartbeatAt);
    await untilIdle();
  }
}

type CoreSessions = SleepSessions<Admission>;

export class EdgeScene {
  readonly core = new SessionScene();
  readonly telemetry = new FakeTelemetry();
  readonly gate: EdgeGate;
  readonly #spoil: (sessions: CoreSessions) => CoreSessions;

  /** `spoil`: wraps the core's sessions, for a canary. */
  constructor(sessionsMax = 1000, spoil = (sessions: CoreSessions): CoreSessions => sessions) {
    this.#spoil = spoil;
    this.gate = this.newGate(sessionsMax);
  }

  newGate(sessionsMax = 1000): EdgeGate {
    const { clock, log, deps } = this.core;
    return new EdgeGate(
      {
        sleep: {
          listen: { host: '127.0.0.1', port: 8081 },
          max_sessions: sessionsMax,
          write_deadline_ms: 1000,
        },
        socketPath: null,
        elsewhere: null,
      },
      {
        clock,
        log,
        sessions: this.#spoil(sleepSessions(deps)),
        telemetry: this.telemetry,
        progress: new LoopProgress(clock),
        release: '2.0.0',
      },
    );
  }

  edge(identity: Partial<EdgeIdentity> = {}, isLocal = true): SceneEdge {
    return new SceneEdge(this, isLocal, identity);
  }

  /** The core is killed and loses its memory; the next one starts on the same store. */
  restart(): EdgeGate {
    this.core.directory = this.core.newDirectory();
    return this.newGate();
  }

  /** Advances the clock one heartbeat at a time, so that messages are delivered. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= linkHeartbeatMs) {
      this.core.clock.advance(Math.min(leftMs, linkHeartbeatMs));
      await untilIdle();
    }
  }

  /** Logins and end reasons of a device, from the event log. */
  history(deviceId = testDevice): string[] {
    return this.core.sleep.history(deviceId);
  }
}
