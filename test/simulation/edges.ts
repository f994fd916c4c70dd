/**
 * Edges of a simulated site: each holds sleep connections over its real end of the link, loses that link, its core or its own
 * life, and connects again. Source: scale-out.md, Edges.
 */
import { Duplex } from 'node:stream';
import { EdgeEnd } from '../../src/edge/edge-end.ts';
import type { SleepSettings } from '../../src/edge/settings.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import type { Holder, Site, Troubled } from './site.ts';
import { SleepGateway } from './sleep-gateway.ts';
import { Host, HostClock, type WallClock } from './timeline.ts';
import type { Wire } from './wires.ts';

/** Milliseconds between two attempts of an edge to connect to its core, at most: as local ones and others do. */
const redialMs = { local: 100, elsewhere: 1000 };

/** One end of a link, at a process. */
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

/** A link as the network has it: bytes arrive in order and late; a broken one loses them, and neither end knows. */
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

  /** The kernel of the end that has died, or the network, says that it is over. */
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

/** One life of an edge. */
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

  /** Modules can log in. */
  get isListening(): boolean {
    return this.#stage === 'listening' && !this.host.isDead;
  }

  get hasLink(): boolean {
    return this.#link !== null;
  }

  /** Its core has died, or the network breaks the link; `isSilent`: neither end hears of it. */
  breakLink(isSilent: boolean): void {
    const link = this.#link;
    if (link === null) return;
    if (isSilent) link.isBroken = true;
    else link.reset();
  }

  /** In order, with its core. */
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
    this.#site.evidence.note(`${this.name} is linked, with ${this.end.sessionCount} sessions`);
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
    this.#site.evidence.note(`${this.name} has no link: ${fault ?? 'ended in order'}`);
    this.#site.timeline.after(50, this.host, () => this.#dial());
  }
}

const address = { host: '192.0.2.7', port: 8081 };

/** The place of an edge, over all of its lives. */
export class EdgePlace implements Troubled {
  readonly name: string;
  readonly isLocal: boolean;
  readonly wall: WallClock;
  readonly #site: Site;
  readonly #settings: SleepSettings;
  life: EdgeLife | null = null;
  lives = 0;
  /** The way to the core is cut. */
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
    this.#site.evidence.note(`${this.life.name} starts`);
  }

  /** `kill -9`; its supervisor starts it again. */
  crash(): void {
    const { life } = this;
    if (life === null) return;
    this.#site.evidence.note(`${life.name} is killed`);
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

  /** A fault of either end ends the link. */
  loseLink(): void {
    if (this.life === null) return;
    this.#site.trouble(this);
    this.life.breakLink(false);
  }

  /** The way to the core is cut for so long. */
  cut(ms: number): void {
    if (this.isCut || this.isLocal) return;
    this.#site.evidence.note(`the way of ${this.name} to its core is cut`);
    this.isCut = true;
    this.cutsMs.push(this.#site.timeline.nowMs);
    this.#site.trouble(this);
    this.life?.breakLink(this.#site.chance.next() < 0.5);
    this.#site.timeline.after(ms, null, () => this.mend());
  }

  mend(): void {
    if (!this.isCut) return;
    this.#site.evidence.note(`${this.name} reaches its core again`);
    this.isCut = false;
    this.#site.trouble(this);
  }
}
