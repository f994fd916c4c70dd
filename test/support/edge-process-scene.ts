/** Edges as real processes of this one, which acts as supervisor and core: a real gate, and simulated sessions. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EdgeGate } from '../../src/edge/edge-gate.ts';
import type { EdgeChildKind } from '../../src/edge/process/child-kind.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import type { EdgeFacts } from '../../src/edge/sleep-front.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { ChildLife } from '../../src/server/children/child-life.ts';
import { SupervisedChild } from '../../src/server/children/child.ts';
import { startEdgeChild } from '../../src/server/children/edge-child.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import { until } from './event-loop.ts';
import { FakeSleepSessions } from './fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from './fakes.ts';
import { findFreePort } from './free-port.ts';
import { sleepGatewayDefaults } from './listener-defaults.ts';
import { RawPeer } from './raw-peer.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

const startMsMax = 60_000;
const host = '127.0.0.1';
const stopMsMax = 10_000;

export class EdgeProcessScene {
  readonly clock = new SystemClock();
  readonly sessions = new FakeSleepSessions();
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly port: number;
  /** Key file for edges on other machines, and the port that they connect to. */
  readonly keyFile: string;
  readonly corePort: number;
  readonly #t: Ending;
  readonly #corePath: string;
  readonly #sleep: SleepSettings;
  #gate: EdgeGate;

  private constructor(t: Ending, port: number, corePort: number, settings: Partial<SleepSettings>) {
    this.#t = t;
    this.port = port;
    this.corePort = corePort;
    const directory = temporaryDirectory(t);
    this.#corePath = join(directory, 'core.sock');
    this.keyFile = join(directory, 'edge.key');
    writeFileSync(this.keyFile, randomBytes(32));
    this.#sleep = { ...sleepGatewayDefaults, listen: { host, port }, ...settings };
    this.#gate = this.#newGate();
    t.after(() => this.#gate.close());
  }

  static async open(t: Ending, settings: Partial<SleepSettings> = {}): Promise<EdgeProcessScene> {
    const scene = new EdgeProcessScene(t, await findFreePort(host), await findFreePort(host), settings);
    await scene.#gate.listen();
    return scene;
  }

  get edges(): readonly EdgeFacts[] {
    return this.#gate.edges();
  }

  get gate(): EdgeGate {
    return this.#gate;
  }

  /** Starts an edge. Resolves when the core sees that it listens. */
  async startEdge(name: string): Promise<SupervisedChild<EdgeChildKind>> {
    const child = new SupervisedChild<EdgeChildKind>({
      clock: this.clock,
      log: this.log,
      name: 'edge',
      fields: { edge: name },
      restartMs: { min: 50, max: 1000 },
      launch: () => new ChildLife(startEdgeChild(), { clock: this.clock, name: 'edge', startMsMax }),
      task: () => ({ name, sleep: this.#sleep, corePath: this.#corePath }),
    });
    this.#t.after(() => child.stop(stopMsMax));
    await child.start();
    await this.listening(name);
    return child;
  }

  /** Resolves to the edge with this name once it listens. `instead`: process id that it replaces. */
  async listening(name: string, instead: number | null = null): Promise<EdgeFacts> {
    const find = (): EdgeFacts | undefined =>
      this.edges.find((edge) => edge.name === name && edge.state === 'listening' && edge.pid !== instead);
    await until(() => find() !== undefined);
    return find() as EdgeFacts;
  }

  async logged(sentence: RegExp): Promise<void> {
    await until(() => this.log.lines.some(({ message }) => sentence.test(message)));
  }

  /** The core dies; devices notice nothing. */
  async loseCore(): Promise<void> {
    await this.#gate.close();
  }

  async newCore(): Promise<void> {
    this.#gate = this.#newGate();
    await this.#gate.listen();
  }

  /** Connects a module that has received its session key. */
  async arrive(): Promise<Module> {
    const peer = await RawPeer.connect(this.port);
    this.#t.after(() => void peer.socket.destroy());
    return new Module(peer, await peer.read(32));
  }

  async logIn(deviceId = 'TESTDEVICE01'): Promise<Module> {
    this.sessions.secrets.set(deviceId, 'device-secret');
    const module = await this.arrive();
    const answer = await module.logIn(deviceId);
    if (answer !== 'OK') throw new Error(`${deviceId} was not let in: ${answer}`);
    return module;
  }

  /** Resolves to the answer to a login; `refused`: nothing listens. */
  async tryLogin(deviceId: string): Promise<string> {
    this.sessions.secrets.set(deviceId, 'device-secret');
    try {
      return await (await this.arrive()).logIn(deviceId);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return 'refused';
      throw error;
    }
  }

  #newGate(): EdgeGate {
    const { clock, sessions, telemetry, log } = this;
    const elsewhere = { address: { host, port: this.corePort }, keyFile: this.keyFile };
    // An edge has its own limit of sessions.
    const sleep = { ...this.#sleep, max_sessions: sleepGatewayDefaults.max_sessions };
    const settings = { sleep, socketPath: this.#corePath, elsewhere };
    const progress = new LoopProgress(clock);
    return new EdgeGate(settings, { clock, sessions, telemetry, log, progress, release: 'test' });
  }
}

class Module {
  readonly peer: RawPeer;
  readonly #sessionKey: string;

  constructor(peer: RawPeer, sessionKey: string) {
    this.peer = peer;
    this.#sessionKey = sessionKey;
  }

  async logIn(deviceId: string): Promise<string> {
    this.sendLogin(deviceId);
    let answer = '';
    do answer += await this.peer.read(1);
    while (!answer.endsWith('\n') && answer !== '');
    return answer.trim();
  }

  sendLogin(deviceId = 'TESTDEVICE01'): void {
    const login = { deviceId, secret: 'device-secret', wakeMode: 'custom', heartbeatSeconds: 60 } as const;
    this.peer.send(encodeLoginLine({ ...login, wantsReply: true }, this.#sessionKey));
  }
}
