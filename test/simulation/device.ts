/**
 * A simulated doorbell: its low-power module, which sleeps at one process or at several nodes, and its controller, which logs
 * in when woken or by itself. Each loses connections by FIN, reset and silence, and reconnects.
 */
import { claimMsMax, signalHeartbeatSeconds } from '../../src/model/limits.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { SleepEndReason } from '../../src/model/sleep.ts';
import type { SessionTicket } from '../../src/core/ports/device-sessions.ts';
import type { GatewayObserver } from './sleep-gateway.ts';
import { EdgeLife } from './edges.ts';
import type { SleepLoginFact } from './evidence.ts';
import type { Holder, Life, Site } from './site.ts';
import { replacedCode, type Wire } from './wires.ts';

const wakePrefix = '983b16f8f39c';
const moduleHeartbeatSeconds = 10;
/** Milliseconds without an answer until a module or controller tries another process. */
const answerMsMax = 8000;

abstract class Connector {
  protected readonly site: Site;
  protected readonly deviceId: DeviceId;
  protected wire: Wire | null = null;
  /** Number of the current connection; events of earlier ones are ignored. */
  protected round = 0;
  protected secret = '';
  isWanted = false;

  constructor(site: Site, deviceId: DeviceId) {
    this.site = site;
    this.deviceId = deviceId;
  }

  protected abstract readonly kind: 'sleep' | 'signal';
  /** Chooses a process that accepts connections; null: none. */
  protected abstract findHolder(): Life | EdgeLife | null;
  protected abstract logIn(holder: Life | EdgeLife, wire: Wire, observer: GatewayObserver): void;
  protected abstract received(data: string, wire: Wire): void;
  protected abstract closed(code: number | null): void;

  /** Connects after `ms` to any process that serves. */
  connectIn(ms: number): void {
    const round = (this.round += 1);
    this.isWanted = true;
    this.site.timeline.after(ms, null, () => {
      if (round === this.round && this.isWanted) this.#connect();
    });
  }

  /** Ends the connection, if any; with `silence` the server is not notified. */
  leave(how: 'fin' | 'reset' | 'silence'): void {
    this.isWanted = false;
    this.round += 1;
    const { wire } = this;
    this.wire = null;
    if (wire === null) return;
    this.site.evidence.record(`${this.deviceId} (${this.kind}) leaves by ${how}`);
    if (how === 'silence') wire.breakSilently();
    else wire.end(how === 'reset');
  }

  #connect(): void {
    const { site, deviceId } = this;
    const holder = this.findHolder();
    if (holder === null) return this.connectIn(1000);
    const round = this.round;
    const wire: Wire = site.dial(holder, {
      received: (data) => {
        if (round === this.round) this.received(data, wire);
      },
      closed: (code) => {
        if (round !== this.round) return;
        this.wire = null;
        this.closed(code);
      },
    });
    this.wire = wire;
    site.evidence.record(`${deviceId} (${this.kind}) dials ${holder.name}`);
    site.timeline.after(site.wireFaults.delayMs(), holder.host, () => {
      if (wire.isPeerClosed || wire.isSilent) return;
      if (!(holder instanceof EdgeLife) && !holder.member.isUp) wire.closeServer(null);
      else {
        this.secret = site.registry.secretOf(deviceId);
        this.logIn(holder, wire, this.#observer(holder));
      }
    });
    site.timeline.after(answerMsMax, null, () => {
      if (round !== this.round || this.wire !== wire || this.isAnswered) return;
      this.leave('reset');
      this.connectIn(500);
    });
  }

  protected abstract readonly isAnswered: boolean;

  #observer(holder: Holder): GatewayObserver {
    const { evidence, timeline } = this.site;
    const { secret, site } = this;
    const askedMs = timeline.nowMs;
    const login: SleepLoginFact = { deviceId: this.deviceId, answeredMs: Infinity };
    if (this.kind === 'sleep') evidence.sleepLogins.push(login);
    return {
      opened: (kind, ticket: SessionTicket, wire) => {
        const { deviceId, sessionId } = ticket;
        login.answeredMs = timeline.nowMs;
        const life = site.serverOf(holder);
        const forbidden = life && site.registry.forbidsSession(deviceId, secret, life);
        // An edge receives the admission later than the core grants it.
        if (forbidden !== null && (forbidden.answer?.atMs ?? 0) <= askedMs)
          evidence.violated(11, `${deviceId} logs in at ${holder.name}, where it is forbidden`);
        evidence.opened({
          kind,
          deviceId,
          session: sessionId,
          ticket,
          secret,
          holder,
          wire,
          askedMs,
          openedMs: timeline.nowMs,
          welcomedMs: null,
          isProvisional: holder.nats !== null && (holder.nats.isUnavailable || holder.place.isCut),
        });
      },
      refused: () => void (login.answeredMs = timeline.nowMs),
      written: (_wire, hex) => {
        if (!hex.startsWith(wakePrefix)) return;
        evidence.writes.push({ deviceId: this.deviceId, atMs: timeline.nowMs, life: site.serverOf(holder) });
      },
      closed: ({ sessionId }, reason) => judgeClose(site, login, evidence.name('s', sessionId), reason),
    };
  }
}

/** The death, restart or outdated state of a core must not close the sockets of its edges. */
function judgeClose(
  { topology, evidence }: Site,
  login: SleepLoginFact,
  session: string,
  reason: SleepEndReason,
): void {
  const { deviceId, answeredMs } = login;
  evidence.record(`${session} of ${deviceId} is closed as ${reason}`);
  if (topology !== 'edges') return;
  if (reason === 'node_lost') evidence.violated(14, `${session} of ${deviceId} is closed as lost`);
  const isReplacing = (other: SleepLoginFact): boolean =>
    other !== login && other.deviceId === deviceId && other.answeredMs >= answeredMs;
  if (reason === 'replaced' && !evidence.sleepLogins.some(isReplacing))
    evidence.violated(14, `${session} of ${deviceId} is closed as replaced without a later login`);
}

class SleepingModule extends Connector {
  protected readonly kind = 'sleep';
  protected isAnswered = false;
  readonly #woken: () => void;

  constructor(site: Site, deviceId: DeviceId, woken: () => void) {
    super(site, deviceId);
    this.#woken = woken;
  }

  get isAsleep(): boolean {
    return this.wire !== null && this.isAnswered && !this.wire.isPeerClosed;
  }

  protected findHolder(): Life | EdgeLife | null {
    return this.site.topology === 'edges' ? this.site.anyEdge() : (this.site.anyServing()?.life ?? null);
  }

  protected logIn(holder: Life | EdgeLife, wire: Wire, observer: GatewayObserver): void {
    this.isAnswered = false;
    const { deviceId } = this;
    const login = { deviceId, secret: this.secret, heartbeatSeconds: moduleHeartbeatSeconds };
    if (holder instanceof EdgeLife) holder.gateway.login(wire, login, observer);
    else holder.member.gateway.sleepLogin(wire, login, observer);
  }

  protected received(data: string, wire: Wire): void {
    if (data === 'OK\n') {
      this.isAnswered = true;
      this.site.evidence.count('logins');
      this.#sendHeartbeats(wire, this.round);
    } else if (data.startsWith(wakePrefix)) this.#woken();
  }

  protected closed(): void {
    this.isAnswered = false;
    this.connectIn(300 + this.site.chance.next() * 2500);
  }

  #sendHeartbeats(wire: Wire, round: number): void {
    this.site.timeline.after(moduleHeartbeatSeconds * 1000, null, () => {
      if (round !== this.round || this.wire !== wire) return;
      wire.send('\0');
      this.#sendHeartbeats(wire, round);
    });
  }
}

/** Margin between an abandoned claim and the arrival of the welcome. */
const marginMs = 100;

class Controller extends Connector {
  protected readonly kind = 'signal';
  protected isAnswered = false;
  stays = false;

  get isOnline(): boolean {
    return this.wire !== null && this.isAnswered;
  }

  protected findHolder(): Life | null {
    return this.site.anyServing()?.life ?? null;
  }

  protected logIn(holder: Life | EdgeLife, wire: Wire, observer: GatewayObserver): void {
    this.isAnswered = false;
    const { deviceId } = this;
    if (!(holder instanceof EdgeLife))
      holder.member.gateway.signalLogin(wire, { deviceId, secret: this.secret }, observer);
  }

  protected received(data: string, wire: Wire): void {
    if (!data.startsWith('{"type":"welcome"')) return;
    this.isAnswered = true;
    const { evidence, timeline } = this.site;
    evidence.count('logins');
    for (const fact of evidence.sessions.values())
      if (fact.wire === wire) {
        fact.welcomedMs = timeline.nowMs;
        fact.isProvisional ||=
          fact.holder.nats?.isUnavailable === true || timeline.nowMs - fact.openedMs > claimMsMax - marginMs;
        evidence.record(`${this.deviceId} is welcomed as ${evidence.name('s', fact.session)}`);
      }
    this.#sendHeartbeats(wire, this.round);
    if (!this.stays) this.#leaveIn(1000 + this.site.chance.next() * 20_000);
  }

  protected closed(code: number | null): void {
    this.isAnswered = false;
    this.site.evidence.record(`${this.deviceId} (signal) is closed with ${code}`);
    if (code === replacedCode && !this.stays) this.isWanted = false;
    else this.connectIn(300 + this.site.chance.next() * 2000);
  }

  #leaveIn(ms: number): void {
    const round = this.round;
    this.site.timeline.after(ms, null, () => {
      if (round !== this.round || this.stays) return;
      const lot = this.site.chance.next();
      this.leave(lot < 0.5 ? 'fin' : lot < 0.8 ? 'reset' : 'silence');
    });
  }

  #sendHeartbeats(wire: Wire, round: number): void {
    this.site.timeline.after(signalHeartbeatSeconds * 1000, null, () => {
      if (round !== this.round || this.wire !== wire) return;
      wire.send('{"type":"heartbeat"}');
      this.#sendHeartbeats(wire, round);
    });
  }
}

export class Device {
  readonly deviceId: DeviceId;
  readonly modules: readonly SleepingModule[];
  readonly controller: Controller;
  readonly #site: Site;
  isCalm = false;

  constructor(site: Site, deviceId: DeviceId) {
    this.#site = site;
    this.deviceId = deviceId;
    // A module at several nodes has a session at each.
    const count = site.topology === 'nodes' ? 1 + site.chance.below(2) : 1;
    this.modules = Array.from(
      { length: count },
      () => new SleepingModule(site, deviceId, () => this.#woken()),
    );
    this.controller = new Controller(site, deviceId);
  }

  start(): void {
    for (const module of this.modules) module.connectIn(this.#site.chance.next() * 3000);
  }

  stir(): void {
    const { chance } = this.#site;
    const module = this.modules[chance.below(this.modules.length)];
    const lot = chance.next();
    if (lot < 0.3) this.controller.connectIn(chance.next() * 500);
    else if (lot < 0.4) this.controller.leave('silence');
    else if (lot < 0.85 && module !== undefined) {
      module.leave(lot < 0.5 ? 'fin' : lot < 0.65 ? 'reset' : 'silence');
      module.connectIn(200 + chance.next() * 4000);
    }
  }

  /** Moves to the state checked at the end: asleep, and online if `staysOnline`. */
  finish(staysOnline: boolean): void {
    this.isCalm = true;
    for (const module of this.modules)
      if (!module.isAsleep) module.connectIn(this.#site.chance.next() * 2000);
    this.controller.stays = staysOnline;
    if (!staysOnline) this.controller.leave('fin');
    else if (!this.controller.isOnline) this.controller.connectIn(this.#site.chance.next() * 2000);
  }

  leaveForGood(): void {
    for (const module of this.modules) module.leave('fin');
    this.controller.stays = false;
    this.controller.leave('fin');
  }

  #woken(): void {
    const { chance, evidence } = this.#site;
    evidence.record(`${this.deviceId} is woken`);
    // An empty battery ignores the wakeup.
    if (this.isCalm || this.controller.isOnline || chance.next() < 0.2) return;
    this.controller.connectIn(100 + chance.next() * 1500);
  }
}
