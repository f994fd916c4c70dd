/**
 * Calls with their legs: the media processes of a process that keeps calls, as its leg service sees them, bridges that wait
 * for calls there, and devices that join theirs. It is what legs say and are told; frames and the link are left out.
 */
import type { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import type { OpenBridgeLeg, OpenDeviceLeg, PlacedLeg } from '../../src/core/ports/leg-service.ts';
import type { CallReport, LegCloseReason, LegMessage } from '../../src/model/call.ts';
import type { SessionId } from '../../src/model/ids.ts';
import type { MediaCapacity } from '../../src/model/media/media-capacity.ts';
import { bridgeKey } from './names.ts';
import type { Life, Site } from './site.ts';

/** Milliseconds between two signs of life of a leg. */
const aliveMs = 2000;
/** Milliseconds until who is not let in tries again. */
const openMsMax = 6000;

/** The URL of all media processes of a process that has calls. */
export function mediaUrlOf(node: string): string {
  return `ws://${node}`;
}

/** The media processes of one life of a process that keeps calls. */
export class MediaProcesses {
  readonly legs = new Set<Leg>();
  readonly #up = new Set([0, 1]);

  capacity(): MediaCapacity[] {
    const workers = [{ busy: 0, taken: 0, room: 10 }];
    const same = { address: '', legs: 0, sessions: 0, workers, engine: null, soundEncoders: [] };
    return Array.from(this.#up, (process) => ({ ...same, process }));
  }

  /** One is gone, and all legs in it. */
  end(process: number, pool: Pick<BridgePool, 'processLost'>): void {
    this.#up.delete(process);
    for (const leg of Array.from(this.legs)) if (leg.process === process) leg.lose();
    pool.processLost(process);
  }

  start(process: number): void {
    this.#up.add(process);
  }

  /** `kill -9` of the process that they belong to. */
  crashed(): void {
    for (const leg of Array.from(this.legs)) leg.breakOff();
  }
}

interface PeerOfLeg {
  heard(message: LegMessage): void;
  /** Null: its media process, or the server, is gone. */
  closed(reason: LegCloseReason | null): void;
}

/** The server's end of a leg. */
class Leg implements PlacedLeg {
  readonly process: number;
  readonly life: Life;
  readonly #site: Site;
  readonly #peer: PeerOfLeg;
  /** Null: it is not let in yet. */
  opened: OpenDeviceLeg | null = null;
  /** Null: a bridge that has no call. */
  session: SessionId | null = null;
  #isOpen = true;
  #isConnected = false;
  /** Of its latest sign of life. */
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
    this.#later(() => this.#peer.heard(message));
  }

  close(reason: LegCloseReason): void {
    const { canary, evidence } = this.#site;
    evidence.count('legs');
    if (canary?.keepsLegs !== true) this.breakOff(reason);
  }

  /** It is gone by itself, which its media process says. */
  lose(): void {
    if (!this.#isOpen) return;
    this.breakOff();
    this.opened?.disconnected();
  }

  /** Nobody is told but its peer. */
  breakOff(reason: LegCloseReason | null = null): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.life.member.media.legs.delete(this);
    this.#later(() => this.#peer.closed(reason));
  }

  /** What its peer does is known to its process a moment later. */
  say(act: (opened: OpenDeviceLeg) => void): void {
    this.#site.timeline.after(this.#site.delayMs(2, 30), this.life.host, () => {
      if (this.#isOpen && this.opened !== null) act(this.opened);
    });
  }

  report(report: CallReport): void {
    if (report.kind === 'progress' && report.state === 'connected') this.#isConnected = true;
    this.say((opened) => opened.report(report));
  }

  #judgeLoss(): void {
    const { evidence, timeline } = this.#site;
    const isThere = this.#isConnected && timeline.nowMs - this.#shownMs < 2 * aliveMs;
    if (isThere && this.#site.isUntroubled(this.life.place))
      evidence.violated(13, `${this.life.name} calls a connected call lost whose leg is there`);
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

/** One who opens a leg somewhere, and comes again. */
abstract class LegPeer<Opened extends OpenDeviceLeg> {
  protected readonly site: Site;
  protected leg: Leg | null = null;
  /** Null: any. */
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

  /** For good. */
  stop(): void {
    this.#round += 1;
    this.drop();
  }

  protected abstract readonly name: string;
  protected abstract admit(life: Life, makeLeg: (process: number) => Leg): Promise<Opened | null>;
  protected abstract heard(message: LegMessage): void;
  protected abstract refused(): void;
  protected abstract gone(reason: LegCloseReason | null): void;

  /** Without a word to the server; its media process notices. */
  protected drop(): void {
    const { leg } = this;
    this.leg = null;
    leg?.say(() => leg.lose());
  }

  /** Says that the call is over until it is. */
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
        heard: (message) => isOurs() && this.heard(message),
        closed: (reason) => {
          if (!isOurs()) return;
          this.leg = null;
          this.gone(reason);
        },
      });
      return made;
    });
    const leg = made as Leg | null;
    this.site.evidence.note(
      `${this.name} ${opened === null ? 'is not let in' : 'has a leg'} at ${life.name}`,
    );
    if (leg !== null) leg.opened = opened;
    if (!isOurs()) return leg?.lose();
    if (opened !== null) this.leg = leg;
    else if (leg === null) this.refused();
    else leg.breakOff();
  }
}

/** Stands idle, takes a call that it is asked about, and goes through it. */
class Bridge extends LegPeer<OpenBridgeLeg> {
  protected readonly name = 'a bridge';
  #hasCall = false;
  /** It takes no more calls, and ends the one that it has. */
  isSettling = false;

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

  protected heard(message: LegMessage): void {
    const { chance, timeline } = this.site;
    if (message.kind === 'assign' && chance.next() < 0.9) {
      const accepts = chance.next() < 0.9 && !this.isSettling;
      this.leg?.say((opened) => (opened as OpenBridgeLeg).answerAssignment(accepts));
    }
    if (message.kind !== 'start') return;
    this.#hasCall = true;
    this.site.evidence.note(`a bridge has ${this.site.evidence.name('c', message.sessionId)}`);
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

  protected gone(): void {
    this.connectIn(300 + this.site.chance.next() * 1500);
  }

  settle(): void {
    this.isSettling = true;
    if (this.#hasCall) this.hangUp('hangup_phone');
  }

  #dropAndReturn(): void {
    this.drop();
    this.connectIn(1000);
  }
}

const joinsMax = 6;

/** A device that joins its call by its token. */
class JoinedDevice extends LegPeer<OpenDeviceLeg> {
  protected readonly name: string;
  readonly #session: SessionId;
  readonly #token: string;
  #joins = 0;
  isSettling = false;

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
    if (!admission.ok || this.isSettling) return null;
    const up = media.capacity().map(({ process }) => process);
    // A media process that does not have the call names the one that has it.
    const process = calls.placement.placeOfLeg(this.#session, up[this.site.chance.below(up.length)] ?? 0);
    if (!up.includes(process)) return null;
    const leg = makeLeg(process);
    leg.session = this.#session;
    const opened = calls.service.openDeviceLeg(admission.value, leg);
    this.site.timeline.after(0, life.host, () => this.#judgePlace(life));
    return opened;
  }

  protected heard({ kind }: LegMessage): void {
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

  protected gone(reason: LegCloseReason | null): void {
    if (reason === null || reason === 'moved' || reason === 'drain') this.#joinAgain();
  }

  settle(): void {
    this.isSettling = true;
    this.hangUp('hangup_device');
  }

  #joinAgain(): void {
    if (this.#joins < joinsMax && !this.isSettling) this.connectIn(500 + this.site.chance.next() * 2000);
  }

  /** Both legs of a call stand in one media process. */
  #judgePlace({ member, name }: Life): void {
    const legs = Array.from(member.media.legs).filter(({ session }) => session === this.#session);
    if (new Set(legs.map(({ process }) => process)).size > 1)
      this.site.evidence.violated(13, `the legs of a call are apart at ${name}`);
  }
}

const bridgesOfSite = 2;

/** All who take part in calls. */
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

  /** The device of the call was given this token; it may join. */
  issued(session: SessionId, token: string): void {
    const { chance, weather } = this.#site;
    if (weather.isFair || chance.next() < 0.4) return;
    const device = new JoinedDevice(this.#site, session, token);
    this.#devices.push(device);
    device.connectIn(200 + chance.next() * 2500);
  }

  /** A media process of one of the processes that keep calls dies, and is there again a moment later. */
  stir(): void {
    const { chance, evidence, places, timeline } = this.#site;
    const lives = places.flatMap(({ life }) => (life === null ? [] : life));
    const life = lives[chance.below(lives.length)];
    if (life?.member.isUp !== true) return;
    const { media, calls } = life.member;
    const process = chance.below(2);
    evidence.note(`a media process of ${life.name} dies`);
    media.end(process, calls.bridges);
    timeline.after(500 + chance.next() * 2000, null, () => media.start(process));
  }

  settle(): void {
    for (const peer of [...this.#bridges, ...this.#devices]) peer.settle();
  }

  stop(): void {
    for (const peer of [...this.#bridges, ...this.#devices]) peer.stop();
  }
}
