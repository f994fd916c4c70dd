/**
 * An edge process: the sleep port, and a link to the core that is reconnected whenever it ends. Sockets stay open while the core is
 * away. It listens once a core has answered it. Source: scale-out.md, Edges.
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { pause, type Clock } from '../../lib/clock.ts';
import { cannotListen, type ListenAddress } from '../../lib/connections/listen-address.ts';
import type { Log } from '../../lib/log.ts';
import type { LoopProgress } from '../../lib/loop-progress.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { Restarts } from '../../lib/restarts.ts';
import { messageOf } from '../../lib/result.ts';
import { descriptorsReserved, productSleepServersMax } from '../../model/limits.ts';
import { EdgeEnd } from '../edge-end.ts';
import type { EdgePort } from '../edge-port.ts';
import { SleepListener } from '../listener.ts';
import type { SleepSettings } from '../settings.ts';
import type { SleepPort } from '../sleep-sockets.ts';

/** Delay before a reconnect, milliseconds: first and maximum. Backends wait for a core of this machine, so it is shorter there. */
const connectMs = { shared: { msMin: 50, msMax: 100 }, own: { msMin: 50, msMax: 1000 } };
/** Maximum number of distinct faults logged while there is no link. */
const faultsMax = 10;

export interface EdgeProcessSettings {
  /** Unique among the edges of the core. */
  readonly name: string;
  readonly sleep: SleepSettings;
  /** `shared`: with the other edges of this machine, where the core runs too. */
  readonly port: SleepPort;
}

export interface EdgeProcessDeps {
  readonly clock: Clock;
  readonly progress: LoopProgress;
  /** Null: the core writes the log lines of this edge. */
  readonly log: Log | null;
  readonly release: string;
  /** Resolves with a new stream to the core; rejects with a sentence. */
  connect(): Promise<Duplex>;
  /** Called each time it begins to accept modules. */
  onListening(address: ListenAddress): void;
}

export class EdgeProcess {
  readonly #settings: EdgeProcessSettings;
  readonly #deps: EdgeProcessDeps;
  readonly #end: EdgeEnd;
  readonly #restarts: Restarts;
  readonly #whenOver: Promise<void>;
  #over: () => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;
  #linkEnded: (fault: string | null) => void = () => undefined;
  #listener: SleepListener;
  /** `idle`: no core has answered yet. `drained`: the port was drained; the next core has it opened again. */
  #stage: 'idle' | 'listening' | 'drained' = 'idle';
  /** Resolves with the number of sessions still open. */
  #drained: Promise<number> | null = null;
  #isLinked = false;
  #isStopping = false;
  #isOver = false;
  /** Faults logged since the last link: each is logged once. */
  readonly #faults = new Set<string>();

  /** Throws when the TLS files are invalid. */
  constructor(settings: EdgeProcessSettings, deps: EdgeProcessDeps) {
    const { clock, progress, release } = deps;
    const { name, sleep, port } = settings;
    this.#settings = settings;
    this.#deps = deps;
    this.#whenOver = new Promise((resolve, reject) => {
      this.#over = resolve;
      this.#failed = reject;
    });
    this.#restarts = new Restarts(clock, { immediate: 0, ...connectMs[port] });
    const identity = {
      name,
      instance: randomUUID(),
      release,
      pid: process.pid,
      address: sleep.listen,
      advertise: sleep.advertise.slice(0, productSleepServersMax),
      maxSessions: boundSessions(sleep.max_sessions, readOpenFilesLimit(), descriptorsReserved),
    };
    this.#end = new EdgeEnd({
      clock,
      progress,
      identity,
      onLinked: (core) => this.#linked(core.release),
      onEnd: (fault) => this.#linkEnded(fault),
    });
    this.#listener = this.#newListener();
  }

  /** Resolves after `stop`. Rejects, with a sentence, when it cannot listen. */
  async run(): Promise<void> {
    void this.#keepLinked();
    try {
      await this.#whenOver;
    } finally {
      this.#isOver = true;
      await this.#end.end();
      void this.#listener.close();
    }
  }

  reloadTls(): void {
    const reason = this.#reloadTls();
    if (reason !== null)
      this.#log.error(
        { reason, listener: 'sleep' },
        'certificate: not reloaded; the previous one stays in force',
      );
  }

  /** Closes its port, drains its sessions at the configured rate, and ends. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { drain_per_second: perSecond, drain_deadline_ms: deadlineMs } = this.#settings.sleep;
    const left = await this.#drain(perSecond, deadlineMs);
    if (left > 0)
      this.#log.warn(
        { left, listener: 'sleep' },
        'drain: sessions left at the deadline; closed with the process',
      );
    this.#over();
  }

  get #log(): Log {
    return this.#deps.log ?? this.#end.log;
  }

  async #keepLinked(): Promise<void> {
    while (!this.#isOver) {
      this.#isLinked = false;
      const fault = await this.#linkOnce();
      const waitMs = this.#restarts.died(this.#isLinked);
      if (!this.#isOver) this.#reportFault(fault);
      await pause(this.#deps.clock, waitMs);
    }
  }

  /** Resolves when the link has ended, with the reason as a sentence. */
  async #linkOnce(): Promise<string> {
    try {
      const stream = await this.#deps.connect();
      if (this.#isOver) {
        stream.destroy();
        return 'the edge is stopping';
      }
      const ended = new Promise<string | null>((resolve) => (this.#linkEnded = resolve));
      this.#end.attach(stream);
      return (await ended) ?? 'the core has ended the link';
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Logged only by an edge with its own log: a core logs the links of its local edges. */
  #reportFault(fault: string): void {
    if (this.#faults.has(fault) || this.#faults.size >= faultsMax) return;
    this.#faults.add(fault);
    this.#deps.log?.warn({ fault }, 'core: not linked; retrying');
  }

  #linked(release: string): void {
    this.#isLinked = true;
    this.#faults.clear();
    this.#deps.log?.info({ core: release, sessions: this.#end.sessionCount }, 'core: linked');
    void this.#listen();
  }

  async #listen(): Promise<void> {
    if (this.#isStopping || this.#stage === 'listening') return;
    try {
      if (this.#stage === 'drained') this.#listener = this.#newListener();
      this.#drained = null;
      this.#stage = 'listening';
      await this.#listener.listen();
    } catch (cause) {
      return this.#failed(cannotListen(this.#settings.sleep.listen, cause));
    }
    this.#end.listening(this.#port());
    this.#deps.onListening(this.#listener.address);
  }

  #newListener(): SleepListener {
    const { sleep, port } = this.#settings;
    const { clock } = this.#deps;
    const { telemetry } = this.#end;
    return new SleepListener(sleep, {
      clock,
      sessions: this.#end,
      telemetry,
      log: this.#log,
      otherSockets: () => 0,
      port,
    });
  }

  #port(): EdgePort {
    const listener = this.#listener;
    return {
      address: listener.address,
      get sockets() {
        return listener.socketCount;
      },
      reloadTls: () => this.#reloadTls(),
      drain: (perSecond, deadlineMs) => this.#drain(perSecond, deadlineMs),
      balance: (othersHaveRoom) => void (listener.sockets.othersHaveRoom = othersHaveRoom),
    };
  }

  #drain(perSecond: number, deadlineMs: number): Promise<number> {
    this.#stage = 'drained';
    this.#end.listening(null);
    return (this.#drained ??= this.#listener.drain(perSecond, deadlineMs));
  }

  #reloadTls(): string | null {
    try {
      this.#listener.reloadTls();
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }
}
