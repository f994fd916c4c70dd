/**
 * A whole simulated site: one process, a core with edges, or several nodes over NATS, with their lives and the faults between
 * them. The seed determines the topology and all faults.
 */
import type { BridgeId, DeviceId } from '../../src/model/ids.ts';
import { hashBridgeKey } from '../../src/model/registry.ts';
import { TokenKeys } from '../../src/protocol/call-token/token-keys.ts';
import { loadSettings } from '../../src/server/config/settings.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { AloneMembership, type Membership } from '../../src/server/membership/membership.ts';
import { NodeMembership } from '../../src/server/membership/node-membership.ts';
import type { LiveTokenKeys } from '../../src/storage/keys/token-key-file.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { newKey } from '../support/call-tokens.ts';
import type { Chance } from '../support/seeded-random.ts';
import { EdgeLife, EdgePlace } from './edges.ts';
import { Evidence } from './evidence.ts';
import { SimulatedMember } from './member.ts';
import { Disk, DiskFull, type StoreFile } from './memory-store.ts';
import { NatsConnection } from './nats-connection.ts';
import { NatsServer } from './nats-server.ts';
import { SimulatedTransport } from './nats-transport.ts';
import type { Canary } from './canaries.ts';
import { RegistryFacts } from './registry-facts.ts';
import { SimulatedLog } from './simulated-log.ts';
import { Host, HostClock, Timeline, type WallClock } from './timeline.ts';
import { app, bridgeKey, hooks, otherApp, product } from './names.ts';
import { Receivers, startWebhookThread } from './webhooks.ts';
import { Wire, type PeerEnd, type WireFaults } from './wires.ts';

export type Topology = 'alone' | 'edges' | 'nodes';

/** Wall time of the run's first instant: 2026-11-20T08:30:00Z. */
const wallMs = Date.UTC(2026, 10, 20, 8, 30, 0);

const baseSettings = loadSettings({
  env: {},
  overrides: ['media.process=none', 'sleep.max_sessions=100', 'signal.max_sessions=100'],
});

/** Milliseconds after a fault in which others may have outdated state. */
export const troubleMs = 30_000;

export interface Troubled {
  readonly name: string;
  readonly wall: WallClock;
  /** The network path to NATS, or to the core, is cut. */
  isCut: boolean;
  readonly cutsMs: number[];
  /** End of the latest fault; others may see outdated state until a while after. */
  troubledMs: number;
  readonly troublesMs: number[];
}

export interface Holder {
  readonly name: string;
  readonly place: Troubled;
  readonly host: Host;
  readonly nats: NatsConnection | null;
  readonly wires: Set<Wire>;
}

export interface Life extends Holder {
  readonly place: Place;
  readonly clock: HostClock;
  readonly member: SimulatedMember;
  readonly store: Store & { readonly openCommits: () => number };
}

export interface Place extends Troubled {
  readonly disk: Disk;
  life: Life | null;
  lives: number;
}

/** Milliseconds without a heartbeat after which a supervisor kills its child. */
const hangMsMax = 5000;
/** Maximum milliseconds of a core's pause, before its supervisor kills it and its edges close the link. */
export const corePauseMsMax = 4000;
/** Maximum delay of a message on a link, milliseconds, so that edges report their sessions in time. */
const linkMsMax = 400;

/** Probabilities of network and disk faults; all are zero once the site is healed. */
export interface Weather {
  isFair: boolean;
  readonly slowMs: number;
  readonly lossShare: number;
  readonly refusedCommits: number;
  /** Probability that a process dies at a commit, by file. */
  readonly deadlyCommits: Readonly<Record<StoreFile, number>>;
  readonly stuckWrites: number;
}

export class Site {
  readonly timeline = new Timeline();
  readonly chance: Chance;
  readonly topology: Topology;
  readonly places: Place[] = [];
  /** The edges of the only place; empty: it holds its sleep connections itself. */
  readonly edges: EdgePlace[] = [];
  readonly evidence: Evidence;
  readonly nats: NatsServer;
  readonly devices: readonly DeviceId[];
  readonly weather: Weather;
  readonly canary: Canary | null;
  readonly registry: RegistryFacts;
  readonly receivers: Receivers;

  constructor(
    chance: Chance,
    {
      topology,
      weather,
      canary,
      keepsAll,
    }: {
      readonly topology: Topology;
      readonly weather: Weather;
      readonly canary: Canary | null;
      readonly keepsAll: boolean;
    },
  ) {
    this.chance = chance;
    this.topology = topology;
    this.weather = weather;
    this.canary = canary;
    this.evidence = new Evidence(this.timeline, keepsAll);
    this.nats = new NatsServer(() => wallMs + Math.floor(this.timeline.nowMs));
    // The last device is provisioned during the run.
    this.devices = Array.from({ length: 3 + chance.below(3) }, (_, i) => `DEVICE-${i + 1}` as DeviceId);
    this.registry = new RegistryFacts(this);
    this.receivers = new Receivers(this);
    this.#makePlaces();
  }

  /** A random delay in milliseconds: mostly short, sometimes long while faults happen. */
  delayMs(least: number, usual: number): number {
    const { isFair, slowMs } = this.weather;
    const isSlow = !isFair && this.chance.next() < 0.02;
    return least + this.chance.next() * (isSlow ? slowMs : usual);
  }

  get wireFaults(): WireFaults {
    const { chance, canary } = this;
    return {
      swallows: (isWake) => isWake && canary?.swallowsWakes === true && chance.next() < 0.2,
      keepsReplaced: canary?.keepsReplaced === true,
      delayMs: () => this.delayMs(5, 60),
      stuckMs: () => (this.#happens(this.weather.stuckWrites) ? this.chance.next() * 3000 : 0),
    };
  }

  linkDelayMs(): number {
    return Math.min(linkMsMax, this.delayMs(0.1, 2));
  }

  startAll(): void {
    for (const place of this.places) this.start(place);
    for (const edge of this.edges) edge.start();
  }

  /** Places that admit devices and backends. */
  serving(): Place[] {
    return this.places.filter(({ life }) => life?.member.isUp === true);
  }

  /** A random edge that accepts modules; null: none. */
  anyEdge(): EdgeLife | null {
    const listening = this.edges.flatMap(({ life }) => (life?.isListening === true ? life : []));
    return listening[this.chance.below(listening.length)] ?? null;
  }

  /** The core if edges can connect to it; null: none. */
  openCore(): Life | null {
    const life = this.places[0]?.life ?? null;
    return life?.member.gateway.isOpen === true ? life : null;
  }

  /** The server process that currently owns this holder's sessions; null: the core of the edge is dead. */
  serverOf(holder: Holder): Life | null {
    if (holder instanceof EdgeLife) return this.places[0]?.life ?? null;
    return holder as Life;
  }

  /** A random place that serves; null: none. */
  anyServing(): Place | null {
    const serving = this.serving();
    return serving[this.chance.below(serving.length)] ?? null;
  }

  start(place: Place): void {
    place.lives += 1;
    const name = `${place.name}#${place.lives}`;
    const host = new Host(name);
    const clock = new HostClock(this.timeline, host, place.wall);
    const store = place.disk.open(this.timeline, host);
    this.canary?.store?.(store, this);
    const log = new SimulatedLog(name, this.evidence);
    const { membership, nats } = this.#membershipOf(place, { host, clock });
    const member = new SimulatedMember({
      settings: settingsOf(place),
      clock,
      host,
      log,
      store,
      membership,
      tokenKeys,
      edges: this.edges.length === 0 ? null : place.lives === 1 ? 'first' : 'later',
      webhooks: {
        openTables: () => place.disk.openWebhooks(this.timeline, host),
        startWorker: (task) => startWebhookThread(this, life, task),
      },
      alter: (context) => this.canary?.context?.(context, this),
    });
    const life: Life = { name, place, host, clock, member, store, wires: new Set(), nats };
    place.life = life;
    this.evidence.record(`${name} starts`);
    void member.start().then(
      () => this.evidence.record(`${name} serves`),
      (error: unknown) => {
        if (host.isDead) return;
        if (!(error instanceof DiskFull))
          this.evidence.violated(9, `${name} does not start: ${String(error)}`);
        // A failed start ends the process, which is restarted.
        this.crash(place);
        this.timeline.after(1000, null, () => place.life ?? this.start(place));
      },
    );
  }

  crash(place: Place): void {
    const { life } = place;
    if (life === null) return;
    this.evidence.record(`${life.name} is killed`);
    this.trouble(place);
    life.member.isUp = false;
    life.host.isDead = true;
    life.host.diedMs = this.timeline.nowMs;
    life.host.endedMs ??= this.timeline.nowMs;
    place.life = null;
    place.disk.crashed(life.host);
    life.nats?.crash();
    for (const wire of life.wires) wire.serverCrashed();
    life.member.media.crashed();
    for (const edge of this.edges) if (!edge.isCut) edge.life?.breakLink(false);
  }

  /** Stops by SIGTERM. Resolves when the process has ended. */
  async stop(place: Place): Promise<void> {
    const { life } = place;
    if (life === null) return;
    this.evidence.record(`${life.name} is stopped`);
    this.trouble(place);
    life.host.endedMs ??= this.timeline.nowMs;
    await life.member.stop();
    this.evidence.record(`${life.name} has stopped`);
    if (place.life === life) place.life = null;
  }

  pause(place: Place, ms: number): void {
    if (place.life !== null) this.pauseHost(place.life.host, place, ms);
  }

  pauseHost(host: Host, place: Troubled, ms: number): void {
    this.evidence.record(`${host.name} is paused for ${Math.round(ms)} ms`);
    // A second pause must not end before the first.
    host.pausedUntilMs = Math.max(host.pausedUntilMs, this.timeline.nowMs + ms);
    this.trouble(place, host.pausedUntilMs - this.timeline.nowMs);
  }

  /** Hangs the process until it is killed, by its supervisor or by an operator. */
  hang(place: Place, mostMs: number): void {
    const { life } = place;
    if (life === null) return;
    const killedMs =
      this.topology === 'edges'
        ? hangMsMax + this.chance.next() * 1000
        : 10_000 + this.chance.next() * 20_000;
    const noticedMs = Math.min(killedMs, mostMs);
    this.pause(place, 2 * noticedMs);
    this.timeline.after(noticedMs, null, () => {
      if (place.life !== life) return;
      this.crash(place);
      this.timeline.after(500 + this.chance.next() * 1500, null, () => place.life ?? this.start(place));
    });
  }

  /** Sets the wall clock, as NTP or an operator would; monotonic deadlines are unaffected. */
  setClock(place: Troubled, byMs: number): void {
    this.evidence.record(`the clock of ${place.name} is set by ${Math.round(byMs / 1000)} s`);
    this.evidence.count('clocks set');
    place.wall.startMs += Math.round(byMs);
  }

  cut(place: Place): void {
    if (place.isCut || this.topology !== 'nodes') return;
    this.evidence.record(`${place.name} is cut off from NATS`);
    place.isCut = true;
    place.cutsMs.push(this.timeline.nowMs);
    place.life?.nats?.cut();
  }

  mend(place: Place): void {
    if (!place.isCut) return;
    this.evidence.record(`${place.name} reaches NATS again`);
    place.isCut = false;
    this.trouble(place);
    place.life?.nats?.mend();
  }

  /** Stops all faults; pauses end in time. */
  heal(): void {
    this.weather.isFair = true;
    for (const place of this.places) this.mend(place);
    for (const edge of this.edges) edge.mend();
    this.receivers.heal();
  }

  /** Records a fault, after which others may have outdated state for a while. */
  trouble(place: Troubled, ms = 0): void {
    this.evidence.count('faults');
    place.troubledMs = Math.max(place.troubledMs, this.timeline.nowMs + ms);
    place.troublesMs.push(this.timeline.nowMs, place.troubledMs);
  }

  /** Connects a device to a process; if that is dead, the connection closes at once. */
  dial(holder: Holder, peer: PeerEnd): Wire {
    const wire = new Wire({ timeline: this.timeline, host: holder.host, faults: this.wireFaults }, peer);
    holder.wires.add(wire);
    if (holder.host.isDead) wire.serverCrashed();
    return wire;
  }

  /** True: no recent fault of this place, or of any. */
  isUntroubled(place: Troubled | null = null): boolean {
    const concerned = place === null ? [...this.places, ...this.edges] : [place];
    return concerned.every(({ troubledMs, isCut }) => !isCut && this.timeline.nowMs - troubledMs > troubleMs);
  }

  #happens(share: number): boolean {
    return !this.weather.isFair && this.chance.next() < share;
  }

  /** Kills the process between a commit and its notification. */
  #crashAtCommit(host: Host, file: StoreFile): void {
    const place = this.places.find(({ life }) => life?.host === host);
    if (place?.life?.member.isUp !== true) return;
    this.evidence.record(`${host.name} has committed to its ${file}`);
    this.crash(place);
    this.timeline.after(200 + this.chance.next() * 3000, null, () => place.life ?? this.start(place));
  }

  #makePlaces(): void {
    const disk = (): Disk =>
      new Disk({
        commitMs: () => this.delayMs(0.1, 6),
        refuses: () => this.#happens(this.weather.refusedCommits),
        committed: (host, file) => {
          if (this.#happens(this.weather.deadlyCommits[file])) this.#crashAtCommit(host, file);
        },
      });
    const make = (name: string): void =>
      void this.places.push({
        name,
        disk: disk(),
        wall: { startMs: wallMs },
        life: null,
        lives: 0,
        isCut: false,
        cutsMs: [],
        troubledMs: -Infinity,
        troublesMs: [],
      });
    const count = 2 + this.chance.below(2);
    if (this.topology === 'nodes') for (let index = 0; index < count; index++) make(`node-${index + 1}`);
    else make('server');
    if (this.topology === 'edges') this.#makeEdges(count);
    // Other nodes load the first one's registry from NATS.
    const [first] = this.places;
    if (first !== undefined) this.#fillRegistry(first.disk);
  }

  /** The last edge is on another machine. */
  #makeEdges(count: number): void {
    const wall = this.places[0]?.wall ?? { startMs: wallMs };
    const settings = baseSettings.sleep;
    for (let index = 1; index <= count; index++) {
      const isLocal = index < count;
      const own = { isLocal, settings, wall: isLocal ? wall : { startMs: wallMs } };
      this.edges.push(new EdgePlace(this, `edge-${index}`, own));
    }
  }

  #fillRegistry(disk: Disk): void {
    const { registry } = disk.open(this.timeline, new Host('import'));
    registry.environment.transactionSync(() => {
      registry.put('application', { appId: app, name: 'simulated' });
      registry.put('application', { appId: otherApp, name: 'other' });
      registry.put('product', { productId: product, appIds: [app, otherApp] });
      for (const hook of hooks) registry.put('webhook', hook);
      registry.put('bridge', {
        bridgeId: 'bridge-1' as BridgeId,
        keySha256: hashBridgeKey(bridgeKey),
        appIds: [app],
        revoked: false,
      });
      for (const deviceId of this.devices.slice(0, -1)) {
        const secret = `first secret of ${deviceId}`;
        this.registry.equip(deviceId, secret);
        registry.put('device', { deviceId, productId: product, secret, expiresAt: null, disabled: false });
      }
    });
  }

  #membershipOf(
    place: Place,
    { host, clock }: { readonly host: Host; readonly clock: HostClock },
  ): { readonly membership: Membership; readonly nats: NatsConnection | null } {
    if (this.topology !== 'nodes') return { membership: new AloneMembership(), nats: null };
    const nats = this.#connect(place, host);
    const transport = new SimulatedTransport(nats, this.nats, place.name);
    this.canary?.transport?.(transport, this);
    return { membership: new NodeMembership(transport, { clock, node: place.name }), nats };
  }

  #connect(place: Place, host: Host): NatsConnection {
    const { chance, weather } = this;
    const faults = {
      delayMs: () => this.delayMs(0.2, 4),
      requestFate: () => {
        if (!this.#happens(weather.lossShare)) return 'answered' as const;
        return chance.next() < 0.5 ? ('ignored' as const) : ('unanswered' as const);
      },
      losesMessage: () => this.#happens(weather.lossShare),
      noticedMs: () => 800 + chance.next() * 2200,
      droppedMs: () => 1500 + chance.next() * 3500,
      redialMs: () => 50 + chance.next() * 1000,
    };
    return new NatsConnection({ server: this.nats, timeline: this.timeline, host, faults }, place.isCut);
  }
}

function settingsOf({ name }: Place): Settings {
  return { ...baseSettings, cluster: { ...baseSettings.cluster, node_name: name } };
}

const tokenKeys = {
  keys: new TokenKeys([newKey]),
  onChange: () => undefined,
  reload: () => Promise.resolve(),
} as unknown as LiveTokenKeys;
