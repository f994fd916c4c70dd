/**
 * Calls with their legs: the media processes of a process that owns calls, as seen by its leg service, bridges that wait for
 * calls, and devices that join theirs. Simulates the messages of legs, without frames and without the link.
 */
import type { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import type { OpenBridgeLeg, OpenDeviceLeg, PlacedLeg } from '../../src/core/ports/leg-service.ts';
import type { CallReport, LegCloseReason, LegMessage } from '../../src/model/call.ts';
import type { SessionId } from '../../src/model/ids.ts';
import type { MediaCapacity } from '../../src/model/media/media-capacity.ts';
import { bridgeKey } from './names.ts';
import type { Life, Site } from './site.ts';

/** Milliseconds between two reports of a leg's activity. */
const aliveMs = 2000;
/** Milliseconds until a leg without an answer counts as refused. */
const openMsMax = 6000;

/** The shared URL of all media processes of a node. */
export function mediaUrlOf(node: string): string {
  return `ws://${node}`;
}

export class MediaProcesses {
  readonly legs = new Set<Leg>();
  readonly #up = new Set([0, 1]);

  capacity(): MediaCapacity[] {
    const workers = [{ busy: 0, taken: 0, room: 10 }];
    const same = { address: '', legs: 0, sessions: 0, workers, engine: null, soundEncoders: [] };
    return Array.from(this.#up, (process) => ({ ...same, process }));
  }

  /** Ends a media process with all of its legs. */
  end(process: number, pool: Pick<BridgePool, 'processLost'>): void {
    this.#up.delete(process);
    for (const leg of Array.from(this.legs)) if (leg.process === process) leg.lose();
    pool.processLost(process);
  }

  start(process: number): void {
    this.#up.add(process);
  }

  /** `kill -9` of the server process. */
  crashed(): void {
    for (const leg of Array.from(this.legs)) leg.breakOff();
  }
}

interface PeerOfLeg {
  received(message: LegMessage): void;
  /** Null: the media process or the server died. */
  closed(reason: LegCloseReason | null): void;
}

class Leg implements PlacedLeg {
  readonly process: number;
  readonly life: Life;
  readonly #site: Site;
  readonly #peer: PeerOfLeg;
  opened: OpenDeviceLeg | null = null;
  /** Null: a bridge without a call. */
  session: SessionId | null = null;
  #isOpen = true;
  #isConnected = false;
  #shownMs: number;

  constructor(site: Site, life: Life, process: number, peer: PeerOfLeg) {
    this.#site = site;
    this.life = life;
    this.process = process;
    this.#peer = peer;
    this.#shownMs = site.timeline.nowMs;
    life.member.media.legs.add(this);
    this.#showLife();
  }

  notify(message: LegMessage): void {
    if (message.kind === 'state') {
      if (message.reason === 'lost') this.#judgeLoss();
      this.#isConnected = message.state === 'connected';
    }
    if (message.kind === 'start') this.session = message.sessionId;
    this.#later(() => this.#peer.received(message));
  }

  close(reason: LegCloseReason): void {
    const { canary, evidence } = this.#site;
    evidence.count('legs');
    if (canary?.keepsLegs !== true) this.breakOff(reason);
  }

  /** Breaks the leg; its media process reports it. */
  lose(): void {
    if (!this.#isOpen) return;
    this.breakOff();
    this.opened?.disconnected();
  }

  /** Closes the leg and notifies only its peer. */
  breakOff(reason: LegCloseReason | null = null): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.life.member.media.legs.delete(this);
    this.#later(() => this.#peer.closed(reason));
  }

  /** Performs an action of the peer at the server, after a delay. */
  act(act: (opened: OpenDeviceLeg) => void): void {
    this.#site.timeline.after(this.#site.delayMs(2, 30), this.life.host, () => {
      if (this.#isOpen && this.opened !== null) act(this.opened);
    });
  }

  report(report: CallReport): void {
    if (report.kind === 'progress' && report.state === 'connected') this.#isConnected = true;
    this.act((opened) => opened.report(report));
  }

  #judgeLoss(): void {
    const { evidence, timeline } = this.#site;
    const isThere = this.#isConnected && timeline.nowMs - this.#shownMs < 2 * aliveMs;
    if (isThere && this.#site.isUntroubled(this.life.place))
      evidence.violated(13, `${this.life.name} reports a connected call lost although its leg is active`);
  }

  #showLife(): void {
    this.#site.timeline.after(aliveMs, this.life.host, () => {
      if (!this.#isOpen) return;
      this.#shownMs = this.#site.timeline.nowMs;
      this.opened?.alive('media');
      this.#showLife();
    });
  }

  #later(act: () => void): void {
    this.#site.timeline.after(this.#site.delayMs(2, 30), null, act);
  }
}

/** A client that opens a leg at any process, and reconnects. */
abstract class LegPeer<Opened extends OpenDeviceLeg> {
  protected readonly site: Site;
  protected leg: Leg | null = null;
  protected mediaUrl: string | null = null;
  #round = 0;

  constructor(site: Site) {
    this.site = site;
  }

  connectIn(ms: number): void {
    const round = (this.#round += 1);
    this.site.timeline.after(ms, null, () => {
      if (round === this.#round) this.#connect(round);
    });
  }

  stop(): void {
    this.#round += 1;
    this.drop();
  }

  protected abstract readonly name: string;
  protected abstract admit(life: Life, makeLeg: (process: number) => Leg): Promise<Opened | null>;
  protected abstract received(message: LegMessage): void;
  protected abstract refused(): void;
  protected abstract closed(reason: LegCloseReason | null): void;

  /** Drops the connection; only the media process notices. */
  protected drop(): void {
    const { leg } = this;
    this.leg = null;
    leg?.act(() => leg.lose());
  }

  /** Reports a hangup, repeatedly until the leg closes. */
  protected hangUp(reason: 'hangup_device' | 'hangup_phone'): void {
    const { leg } = this;
    if (leg === null) return;
    leg.report({ kind: 'end', reason });
    this.site.timeline.after(3000, null, () => {
      if (this.leg === leg) this.hangUp(reason);
    });
  }

  #connect(round: number): void {
    const { chance, places, timeline } = this.site;
    const keeping = places.flatMap(({ life }) =>
      life?.member.isUp === true && this.#mayConnectTo(life) ? life : [],
    );
    const life = keeping[chance.below(keeping.length)];
    if (life === undefined) return this.connectIn(1000);
    timeline.after(this.site.delayMs(2, 30), life.host, () => void this.#open(life, round));
    timeline.after(openMsMax, null, () => {
      if (round === this.#round && this.leg === null) this.refused();
    });
  }

  #mayConnectTo({ member }: Life): boolean {
    return this.mediaUrl === null || this.mediaUrl === mediaUrlOf(member.context.node);
  }

  async #open(life: Life, round: number): Promise<void> {
    const isOurs = (): boolean => round === this.#round;
    let made: Leg | null = null;
    const opened = await this.admit(life, (process) => {
      made = new Leg(this.site, life, process, {
        received: (message) => isOurs() && this.received(message),
        closed: (reason) => {
          if (!isOurs()) return;
          this.leg = null;
          this.closed(reason);
        },
      });
      return made;
    });
    const leg = made as Leg | null;
    this.site.evidence.record(`${this.name} ${opened === null ? 'is refused' : 'has a leg'} at ${life.name}`);
    if (leg !== null) leg.opened = opened;
    if (!isOurs()) return leg?.lose();
    if (opened !== null) this.leg = leg;
    else if (leg === null) this.refused();
    else leg.breakOff();
  }
}

/** Stands idle, accepts an assigned call, and plays its states. */
class Bridge extends LegPeer<OpenBridgeLeg> {
  protected readonly name = 'a bridge';
  #hasCall = false;
  /** Accepts no more calls, and hangs up the current one. */
  isFinishing = false;

  protected async admit(life: Life, makeLeg: (process: number) => Leg): Promise<OpenBridgeLeg | null> {
    const { chance } = this.site;
    this.#hasCall = false;
    const { media, calls } = life.member;
    const up = media.capacity();
    const process = up[chance.below(up.length)]?.process;
    const admission = await calls.service.admitBridge(bridgeKey, null);
    if (process === undefined || !admission.ok) return null;
    return calls.service.openBridgeLeg(admission.value, makeLeg(process));
  }

  protected received(message: LegMessage): void {
    const { chance, timeline } = this.site;
    if (message.kind === 'assign' && chance.next() < 0.9) {
      const accepts = chance.next() < 0.9 && !this.isFinishing;
      this.leg?.act((opened) => (opened as OpenBridgeLeg).answerAssignment(accepts));
    }
    if (message.kind !== 'start') return;
    this.#hasCall = true;
    this.site.evidence.record(`a bridge has ${this.site.evidence.name('c', message.sessionId)}`);
    const { leg } = this;
    const step = (ms: number, act: () => void): void =>
      void timeline.after(ms, null, () => {
        if (this.leg === leg && leg !== null) act();
      });
    step(300 + chance.next() * 1500, () => leg?.report({ kind: 'progress', state: 'ringing' }));
    step(2500 + chance.next() * 3000, () => leg?.report({ kind: 'progress', state: 'connected' }));
    const lot = chance.next();
    if (lot < 0.5) step(4000 + chance.next() * 12_000, () => this.hangUp('hangup_phone'));
    else if (lot < 0.65) step(1000 + chance.next() * 9000, () => this.#dropAndReturn());
  }

  protected refused(): void {
    this.connectIn(2000);
  }

  protected closed(): void {
    this.connectIn(300 + this.site.chance.next() * 1500);
  }

  finish(): void {
    this.isFinishing = true;
    if (this.#hasCall) this.hangUp('hangup_phone');
  }

  #dropAndReturn(): void {
    this.drop();
    this.connectIn(1000);
  }
}

const joinsMax = 6;

class JoinedDevice extends LegPeer<OpenDeviceLeg> {
  protected readonly name: string;
  readonly #session: SessionId;
  readonly #token: string;
  #joins = 0;
  isFinishing = false;

  constructor(site: Site, session: SessionId, token: string) {
    super(site);
    this.name = `the device of ${site.evidence.name('c', session)}`;
    this.#session = session;
    this.#token = token;
  }

  protected async admit(life: Life, makeLeg: (process: number) => Leg): Promise<OpenDeviceLeg | null> {
    this.#joins += 1;
    const { calls, media } = life.member;
    const admission = await calls.service.admitDevice(this.#token);
    if (!admission.ok && typeof admission.error === 'object' && 'mediaUrl' in admission.error)
      this.mediaUrl = admission.error.mediaUrl;
    if (!admission.ok || this.isFinishing) return null;
    const up = media.capacity().map(({ process }) => process);
    // A media process without the call names the one that has it.
    const process = calls.placement.placeOfLeg(this.#session, up[this.site.chance.below(up.length)] ?? 0);
    if (!up.includes(process)) return null;
    const leg = makeLeg(process);
    leg.session = this.#session;
    const opened = calls.service.openDeviceLeg(admission.value, leg);
    this.site.timeline.after(0, life.host, () => this.#judgePlace(life));
    return opened;
  }

  protected received({ kind }: LegMessage): void {
    const { chance, timeline } = this.site;
    if (kind !== 'state' || this.#joins > 2) return;
    const { leg } = this;
    const lot = chance.next();
    timeline.after(500 + chance.next() * 8000, null, () => {
      if (this.leg !== leg || leg === null) return;
      if (lot < 0.2) this.hangUp('hangup_device');
      else if (lot < 0.4) {
        this.drop();
        this.#joinAgain();
      }
    });
  }

  protected refused(): void {
    this.#joinAgain();
  }

  protected closed(reason: LegCloseReason | null): void {
    if (reason === null || reason === 'moved' || reason === 'drain') this.#joinAgain();
  }

  finish(): void {
    this.isFinishing = true;
    this.hangUp('hangup_device');
  }

  #joinAgain(): void {
    if (this.#joins < joinsMax && !this.isFinishing) this.connectIn(500 + this.site.chance.next() * 2000);
  }

  /** Checks that both legs of a call are in one media process. */
  #judgePlace({ member, name }: Life): void {
    const legs = Array.from(member.media.legs).filter(({ session }) => session === this.#session);
    if (new Set(legs.map(({ process }) => process)).size > 1)
      this.site.evidence.violated(13, `the legs of a call are in different media processes at ${name}`);
  }
}

const bridgesOfSite = 2;

export class Callers {
  readonly #site: Site;
  readonly #bridges: readonly Bridge[];
  readonly #devices: JoinedDevice[] = [];

  constructor(site: Site) {
    this.#site = site;
    this.#bridges = Array.from({ length: bridgesOfSite }, () => new Bridge(site));
  }

  start(): void {
    for (const bridge of this.#bridges) bridge.connectIn(this.#site.chance.next() * 3000);
  }

  /** Lets the device of an issued call join, at random. */
  issued(session: SessionId, token: string): void {
    const { chance, weather } = this.#site;
    if (weather.isFair || chance.next() < 0.4) return;
    const device = new JoinedDevice(this.#site, session, token);
    this.#devices.push(device);
    device.connectIn(200 + chance.next() * 2500);
  }

  /** Kills a random media process, and restarts it a moment later. */
  stir(): void {
    const { chance, evidence, places, timeline } = this.#site;
    const lives = places.flatMap(({ life }) => (life === null ? [] : life));
    const life = lives[chance.below(lives.length)];
    if (life?.member.isUp !== true) return;
    const { media, calls } = life.member;
    const process = chance.below(2);
    evidence.record(`a media process of ${life.name} dies`);
    media.end(process, calls.bridges);
    timeline.after(500 + chance.next() * 2000, null, () => media.start(process));
  }

  finish(): void {
    for (const peer of [...this.#bridges, ...this.#devices]) peer.finish();
  }

  stop(): void {
    for (const peer of [...this.#bridges, ...this.#devices]) peer.stop();
  }
}
