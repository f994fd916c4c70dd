/**
 * Accepts the links of edges at the core: local ones over a Unix socket, others over TLS with a pre-shared key.
 * The core sees all of them as one sleep front. Source: scale-out.md, Edges.
 */
import type { Duplex } from 'node:stream';
import type { CoreDeps } from '../core/ports/core-deps.ts';
import { listenLocally } from '../lib/link/local-socket.ts';
import type { LoopProgress } from '../lib/loop-progress.ts';
import type { Admission, SleepSessions } from '../core/ports/device-sessions.ts';
import { edgeAwayMsMax, edgesMax } from '../model/sleep.ts';
import { formatListenAddress, type ListenAddress } from '../lib/connections/listen-address.ts';
import type { EdgeHello } from '../protocol/edge-link/edge-message.ts';
import type { SleepTelemetry } from '../telemetry/telemetry.ts';
import { CoreEnd } from './core-end.ts';
import { edgePsk } from './edge-language.ts';
import { listenForLinks, type LinkPort } from '../lib/link/link-key.ts';
import { EdgeSessions } from './edge-sessions.ts';
import { Throttle } from '../lib/throttle.ts';
import type { SleepSettings } from './settings.ts';
import type { EdgeFacts, SleepFront } from './sleep-front.ts';

export interface EdgeGateSettings {
  readonly sleep: Pick<SleepSettings, 'listen' | 'max_sessions' | 'write_deadline_ms'>;
  /** Unix socket or named pipe of local edges, within the length limit of the system; null: there are no local edges. */
  readonly socketPath: string | null;
  /** The port of edges on other machines; null: it is off. */
  readonly elsewhere: LinkPort | null;
}

export interface EdgeGateDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly sessions: SleepSessions<Admission>;
  readonly telemetry: SleepTelemetry;
  readonly progress: LoopProgress;
  readonly release: string;
}

/** An edge process, linked or away. */
interface Edge {
  readonly isLocal: boolean;
  readonly sessions: EdgeSessions;
  /** Null: its link is cut. */
  end: CoreEnd | null;
}

export class EdgeGate implements SleepFront {
  readonly #settings: EdgeGateSettings;
  readonly #deps: EdgeGateDeps;
  /** By its kind and name. */
  readonly #edges = new Map<string, Edge>();
  /** All links, including those without a hello yet. */
  readonly #ends = new Set<CoreEnd>();
  readonly #ports: { close(): void }[] = [];
  #waits: readonly { readonly count: number; readonly resolve: () => void }[] = [];
  #isClosed = false;
  /** Strangers can cause these log lines: at most one of a kind a second. */
  readonly #refusals: Throttle;
  readonly #failures: Throttle;

  constructor(settings: EdgeGateSettings, deps: EdgeGateDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#refusals = new Throttle(deps.clock);
    this.#failures = new Throttle(deps.clock);
  }

  /** Resolves when edges can connect; rejects with a sentence for the operator. */
  async listen(): Promise<void> {
    const { socketPath, elsewhere } = this.#settings;
    const { clock, log } = this.#deps;
    if (socketPath !== null)
      this.#ports.push(await listenLocally(socketPath, 'edges', (stream) => this.accept(stream, true)));
    if (elsewhere === null) return;
    const refused = (sentence: string): void => this.#refused(`edge port: ${sentence}`);
    const names = { listen: 'edges.listen', key: 'edges.key_file' };
    const port = await listenForLinks(
      elsewhere,
      names,
      edgePsk,
      clock,
      (stream) => this.accept(stream, false),
      refused,
    );
    this.#ports.push(port);
    const address = formatListenAddress({ ...elsewhere.address, port: port.port });
    log.info({ address }, 'edge port: listening for edges on other machines');
  }

  /** Resolves when `count` local edges accept modules. */
  whenListening(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waits = [...this.#waits, { count, resolve }];
      this.#resolveWaits();
    });
  }

  /** An edge has connected; `isLocal`: over the Unix socket. */
  accept(stream: Duplex, isLocal: boolean): void {
    // A link without a hello ends by itself.
    if (this.#isClosed || this.#ends.size >= 2 * edgesMax) {
      stream.destroy();
      return;
    }
    const { clock, progress, telemetry, log, release } = this.#deps;
    const end = new CoreEnd(stream, {
      clock,
      progress,
      telemetry,
      log,
      release,
      isLocal,
      greeted: (hello, by) => this.#greeted(hello, by, isLocal),
      onListening: () => this.#resolveWaits(),
      othersHaveRoom: (by) => isLocal && this.#othersHaveRoom(by),
      onDeclined: (sentence) => this.#refused(`edge: declined: ${sentence}`),
      onEnd: (by, fault) => this.#ended(by, fault),
    });
    this.#ends.add(end);
  }

  edges(): readonly EdgeFacts[] {
    return [...this.#edges.values()].map(({ isLocal, sessions: { hello, size }, end }) => ({
      name: hello.name,
      isLocal,
      state: end === null ? 'away' : end.address === null ? 'linked' : 'listening',
      pid: hello.pid,
      release: hello.release,
      address: end?.address ?? hello.address,
      advertise: hello.advertise,
      sessions: size,
      linkDelayMs: end?.delayMs ?? null,
    }));
  }

  get address(): ListenAddress {
    const local = this.edges().find(({ isLocal, state }) => isLocal && state === 'listening');
    return local?.address ?? this.#settings.sleep.listen;
  }

  get sessionCount(): number {
    let count = 0;
    for (const { sessions } of this.#edges.values()) count += sessions.size;
    return count;
  }

  get socketCount(): number {
    return this.#linked().reduce((sum, { end }) => sum + end.sockets, 0);
  }

  /** Rejects with the names of the edges that keep their old certificate. */
  async reloadTls(): Promise<void> {
    const problems = await Promise.all(
      this.#linked().map(async ({ sessions: { hello }, end }) => {
        const problem = await end.reloadTls();
        return problem === null ? [] : [`edge ${hello.name}: ${problem}`];
      }),
    );
    if (problems.flat().length > 0) throw new Error(problems.flat().join('; '));
  }

  /**
   * Ends the sessions of local edges; the rate is that of all edges together. Edges elsewhere keep theirs for the next core.
   * Resolves with the number of local sessions still open.
   */
  async drain(ratePerSecond: number, deadlineMs: number): Promise<number> {
    const linked = this.#linked().filter(({ isLocal }) => isLocal);
    const share = Math.max(1, Math.ceil(ratePerSecond / Math.max(1, linked.length)));
    await Promise.all(linked.map(({ end }) => end.drain(share, deadlineMs)));
    const local = [...this.#edges.values()].filter(({ isLocal }) => isLocal);
    return local.reduce((left, { sessions }) => left + sessions.size, 0);
  }

  /** Ends the links. Edges keep their sockets, and connect to the next core. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const port of this.#ports) port.close();
    for (const { sessions } of this.#edges.values()) sessions.unlink();
    await Promise.all([...this.#ends].map((end) => end.end()));
  }

  #greeted(hello: EdgeHello, end: CoreEnd, isLocal: boolean): EdgeSessions | string {
    const key = `${isLocal ? 'local' : 'elsewhere'} ${hello.name}`;
    const known = this.#edges.get(key) ?? null;
    const edge = known?.sessions.hello.instance === hello.instance ? known : null;
    if (this.#isClosed) return 'this core is stopping';
    if (edge === null && known !== null && known.end !== null)
      return `another edge named ${hello.name} is linked: give each edge a unique name (edge.name)`;
    if (known === null && this.#edges.size >= edgesMax) return `${edgesMax} edges are linked, the maximum`;
    // The previous link was cut, and this end has not noticed yet.
    void edge?.end?.end();
    if (edge === null) known?.sessions.giveUp();
    const sessions = edge?.sessions ?? this.#sessionsOf(hello, key, isLocal);
    this.#edges.set(key, { isLocal, sessions, end });
    this.#deps.log.info({ edge: hello.name, release: hello.release, pid: hello.pid }, 'edge: linked');
    return sessions;
  }

  #sessionsOf(hello: EdgeHello, key: string, isLocal: boolean): EdgeSessions {
    const { clock, sessions: core } = this.#deps;
    const { max_sessions: sessionsMax, write_deadline_ms: writeDeadlineMs } = this.#settings.sleep;
    const sessions: EdgeSessions = new EdgeSessions(hello, {
      clock,
      sessions: core,
      writeDeadlineMs,
      awayMsMax: isLocal ? 0 : edgeAwayMsMax,
      hasRoom: () => this.sessionCount < sessionsMax,
      reportFailure: (error) => this.#failed(error),
      emptied: () => {
        if (this.#edges.get(key)?.sessions === sessions) this.#edges.delete(key);
      },
    });
    return sessions;
  }

  #ended(end: CoreEnd, fault: string | null): void {
    this.#ends.delete(end);
    if (this.#isClosed) return;
    const edge = [...this.#edges.values()].find((other) => other.end === end);
    if (edge === undefined) {
      if (fault !== null) this.#refused(`edge port: connection ended: ${fault}`);
      return;
    }
    edge.end = null;
    const { hello, size } = edge.sessions;
    this.#deps.log.warn({ edge: hello.name, sessions: size, fault }, 'edge: link ended');
    edge.sessions.cut();
  }

  /** Local edges share one address; each edge elsewhere has its own. */
  #othersHaveRoom(end: CoreEnd): boolean {
    return this.#linked().some(
      (edge) =>
        edge.end !== end &&
        edge.isLocal &&
        edge.end.address !== null &&
        edge.sessions.size < edge.sessions.hello.maxSessions,
    );
  }

  #linked(): readonly (Edge & { readonly end: CoreEnd })[] {
    return [...this.#edges.values()].flatMap((edge) =>
      edge.end === null ? [] : [{ ...edge, end: edge.end }],
    );
  }

  #refused(sentence: string): void {
    if (this.#refusals.pass()) this.#deps.log.warn({}, sentence);
  }

  #failed(error: unknown): void {
    if (this.#failures.pass())
      this.#deps.log.error({ error: String(error) }, 'sleep logins: refused as busy: registry unreadable');
  }

  #resolveWaits(): void {
    const listening = this.edges().filter(({ isLocal, state }) => isLocal && state === 'listening').length;
    for (const { count, resolve } of this.#waits) if (listening >= count) resolve();
    this.#waits = this.#waits.filter(({ count }) => listening < count);
  }
}
