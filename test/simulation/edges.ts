/**
 * Edges of a simulated site: each holds sleep connections with the real edge end of the link, loses the link, its core or its
 * process, and reconnects. Source: scale-out.md, Edges.
 */
import { Duplex } from 'node:stream';
import { EdgeEnd } from '../../src/edge/edge-end.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import type { Holder, Site, Troubled } from './site.ts';
import { SleepGateway } from './sleep-gateway.ts';
import { Host, HostClock, type WallClock } from './timeline.ts';
import type { Wire } from './wires.ts';

/** Maximum milliseconds between two connection attempts of an edge to its core, local and remote. */
const redialMs = { local: 100, elsewhere: 1000 };

class LinkEnd extends Duplex {
  peer: LinkEnd | null = null;
  readonly host: Host;
  readonly #carry: (from: LinkEnd, arrive: () => void) => void;
  #hasEnded = false;

  constructor(host: Host, carry: (from: LinkEnd, arrive: () => void) => void) {
    super({ allowHalfOpen: false });
    this.host = host;
    this.#carry = carry;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#carry(this, () => this.peer?.arrive(chunk));
    done();
  }

  override _final(done: () => void): void {
    this.#carry(this, () => this.peer?.arrive(null));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#carry(this, () => this.peer?.arrive(null));
    done(error);
  }

  arrive(chunk: Buffer | null): void {
    if (this.#hasEnded || this.destroyed) return;
    this.#hasEnded = chunk === null;
    this.push(chunk);
  }
}

/** A link in the network: bytes arrive in order and late; a broken link loses them without notifying either end. */
export class EdgeLink {
  readonly core: LinkEnd;
  readonly edge: LinkEnd;
  readonly #site: Site;
  readonly #lastMs = new Map<LinkEnd, number>();
  isBroken = false;

  constructor(site: Site, core: Host, edge: Host) {
    this.#site = site;
    const carry = (from: LinkEnd, arrive: () => void): void => this.#carry(from, arrive);
    this.core = new LinkEnd(core, carry);
    this.edge = new LinkEnd(edge, carry);
    this.core.peer = this.edge;
    this.edge.peer = this.core;
  }

  /** Ends the link: the kernel of a dead process, or the network, reset it. */
  reset(): void {
    for (const end of [this.core, this.edge]) this.#arriveAt(end, () => end.arrive(null));
  }

  #carry(from: LinkEnd, arrive: () => void): void {
    if (!from.host.isDead && from.peer !== null) this.#arriveAt(from.peer, arrive);
  }

  #arriveAt(end: LinkEnd, arrive: () => void): void {
    if (this.isBroken) return;
    const { timeline } = this.#site;
    const dueMs = Math.max(this.#lastMs.get(end) ?? 0, timeline.nowMs + this.#site.linkDelayMs());
    this.#lastMs.set(end, dueMs);
    timeline.after(dueMs - timeline.nowMs, end.host, () => {
      if (!this.isBroken) arrive();
    });
  }
}

export class EdgeLife implements Holder {
  readonly name: string;
  readonly place: EdgePlace;
  readonly host: Host;
  readonly clock: HostClock;
  readonly nats = null;
  readonly wires = new Set<Wire>();
  readonly end: EdgeEnd;
  readonly gateway: SleepGateway;
  readonly #site: Site;
  #link: EdgeLink | null = null;
  #stage: 'idle' | 'listening' | 'drained' = 'idle';
  #isOver = false;

  constructor(site: Site, place: EdgePlace, settings: SleepSettings) {
    this.#site = site;
    this.place = place;
    this.name = `${place.name}#${place.lives}`;
    this.host = new Host(this.name);
    const clock = new HostClock(site.timeline, this.host, place.wall);
    this.clock = clock;
    this.end = new EdgeEnd({
      clock,
      progress: new LoopProgress(clock),
      identity: {
        name: place.name,
        instance: this.name,
        release: '1.0.0',
        pid: 4711,
        address,
        advertise: [],
        maxSessions: settings.max_sessions,
      },
      onLinked: () => this.#linked(),
      onEnd: (fault) => this.#linkEnded(fault),
    });
    const { log, telemetry } = this.end;
    this.gateway = new SleepGateway({ clock, log, telemetry, settings, sessions: this.end });
    this.#dial();
  }

  get isListening(): boolean {
    return this.#stage === 'listening' && !this.host.isDead;
  }

  get hasLink(): boolean {
    return this.#link !== null;
  }

  /** The core has died, or the network broke the link; `isSilent`: neither end is notified. */
  breakLink(isSilent: boolean): void {
    const link = this.#link;
    if (link === null) return;
    if (isSilent) link.isBroken = true;
    else link.reset();
  }

  /** Stops in order, together with its core. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.end.end();
    this.gateway.drop();
  }

  #dial(): void {
    const { timeline } = this.#site;
    const core = this.place.isCut ? null : this.#site.openCore();
    if (this.#isOver) return;
    if (core === null) {
      const mostMs = redialMs[this.place.isLocal ? 'local' : 'elsewhere'];
      timeline.after(50 + this.#site.chance.next() * (mostMs - 50), this.host, () => this.#dial());
      return;
    }
    const link = new EdgeLink(this.#site, core.host, this.host);
    this.#link = link;
    this.end.attach(link.edge);
    timeline.after(this.#site.linkDelayMs(), core.host, () => {
      if (!link.isBroken) core.member.gateway.gate?.accept(link.core, this.place.isLocal);
    });
  }

  #linked(): void {
    this.#site.evidence.record(`${this.name} is linked, with ${this.end.sessionCount} sessions`);
    this.#site.evidence.count('links');
    if (this.#stage === 'listening') return;
    this.#stage = 'listening';
    this.gateway.open();
    const { gateway } = this;
    this.end.listening({
      address,
      get sockets() {
        return gateway.sessionCount;
      },
      reloadTls: () => null,
      balance: () => undefined,
      drain: () => {
        this.#stage = 'drained';
        this.end.listening(null);
        return gateway.drain();
      },
    });
  }

  #linkEnded(fault: string | null): void {
    this.#link = null;
    if (this.host.isDead) return;
    this.#site.evidence.record(`${this.name} has no link: ${fault ?? 'ended in order'}`);
    this.#site.timeline.after(50, this.host, () => this.#dial());
  }
}

const address = { host: '192.0.2.7', port: 8081 };

export class EdgePlace implements Troubled {
  readonly name: string;
  readonly isLocal: boolean;
  readonly wall: WallClock;
  readonly #site: Site;
  readonly #settings: SleepSettings;
  life: EdgeLife | null = null;
  lives = 0;
  isCut = false;
  troubledMs = -Infinity;
  readonly troublesMs: number[] = [];
  readonly cutsMs: number[] = [];

  constructor(
    site: Site,
    name: string,
    { isLocal, wall, settings }: { isLocal: boolean; wall: WallClock; settings: SleepSettings },
  ) {
    this.#site = site;
    this.name = name;
    this.isLocal = isLocal;
    this.wall = wall;
    this.#settings = settings;
  }

  start(): void {
    if (this.life !== null) return;
    this.lives += 1;
    this.life = new EdgeLife(this.#site, this, this.#settings);
    this.#site.evidence.record(`${this.life.name} starts`);
  }

  /** `kill -9`; the supervisor restarts it. */
  crash(): void {
    const { life } = this;
    if (life === null) return;
    this.#site.evidence.record(`${life.name} is killed`);
    this.#site.trouble(this);
    life.breakLink(this.isCut);
    life.host.isDead = true;
    life.host.diedMs = this.#site.timeline.nowMs;
    this.life = null;
    for (const wire of life.wires) wire.serverCrashed();
    this.#site.timeline.after(100 + this.#site.chance.next() * 1500, null, () => this.start());
  }

  pause(ms: number): void {
    if (this.life === null) return;
    this.#site.pauseHost(this.life.host, this, ms);
  }

  /** Breaks the link, as a fault of either end would. */
  loseLink(): void {
    if (this.life === null) return;
    this.#site.trouble(this);
    this.life.breakLink(false);
  }

  cut(ms: number): void {
    if (this.isCut || this.isLocal) return;
    this.#site.evidence.record(`the way of ${this.name} to its core is cut`);
    this.isCut = true;
    this.cutsMs.push(this.#site.timeline.nowMs);
    this.#site.trouble(this);
    this.life?.breakLink(this.#site.chance.next() < 0.5);
    this.#site.timeline.after(ms, null, () => this.mend());
  }

  mend(): void {
    if (!this.isCut) return;
    this.#site.evidence.record(`${this.name} reaches its core again`);
    this.isCut = false;
    this.#site.trouble(this);
  }
}
