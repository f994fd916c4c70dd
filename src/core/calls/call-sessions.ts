/**
 * The state of the live calls, in memory and in the store, each with the end of its lease on one wheel. Every change goes
 * through the machine (model/state/call-session.ts) and is written, record and event together, before it is passed on.
 * The legs and the followers are the directory's.
 *
 * A lease is over when its time has come, not when the wheel turns: a call that is asked for after that has ended.
 */
import type { Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/deadline-wheel.ts';
import type { AliveSign, CallChange, CallOrder, CallSession, CallSide } from '../../model/call.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../model/ids.ts';
import { callEvent, reduceCall, type CallInput } from '../../model/state/call-session.ts';
import { issueSession, reissueSession, type Reissue } from '../../model/state/call-issuance.ts';
import { leftLeaseMs, renewedLeaseMs } from '../../model/state/call-lease.ts';
import type { CallLeg, PlacedLeg } from '../ports/leg-service.ts';
import type { CallRecords } from '../ports/records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

/** A session, its legs that are connected, and the end of its lease: monotonic milliseconds. */
export class LiveCall implements WheelEntry, Record<CallSide, PlacedLeg | null> {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  session: CallSession;
  device: PlacedLeg | null = null;
  bridge: PlacedLeg | null = null;
  /** The number of the media process where its first leg has come, and where all others belong; null: none has come yet. */
  process: number | null = null;

  constructor(session: CallSession) {
    this.session = session;
  }
}

export interface CallDeps {
  readonly clock: Clock;
  readonly records: CallRecords;
  readonly telemetry: Telemetry;
}

/** `call.session` is as it is now; of one that has ended: as it was last. `by`: the leg that caused it; null: none. */
export type CallChanged = (call: LiveCall, change: CallChange, by: CallLeg | null) => void;

/** A lease that has run out is noticed at most two of them late, never early. */
export const leaseTickMs = 500;

const leaseEnded: CallInput = { kind: 'lease-ended' };

const none: readonly LiveCall[] = [];

export class CallSessions {
  readonly #byId = new Map<SessionId, LiveCall>();
  /** In the order of their making. Lists are replaced, never changed: most devices have one call, and no spare room. */
  readonly #byDevice = new Map<DeviceId, readonly LiveCall[]>();
  readonly #deps: CallDeps;
  readonly #changed: CallChanged;
  readonly #wheel: DeadlineWheel<LiveCall>;

  /** `changed` is called when the change has been written. */
  constructor(deps: CallDeps, changed: CallChanged) {
    this.#deps = deps;
    this.#changed = changed;
    this.#wheel = new DeadlineWheel(leaseTickMs, deps.clock.monotonicMs(), (call) =>
      this.advance(call, leaseEnded, null),
    );
  }

  get size(): number {
    return this.#byId.size;
  }

  find(sessionId: SessionId): LiveCall | null {
    return this.#byId.get(sessionId) ?? null;
  }

  /** A list that stays as it is, whatever comes and goes. */
  ofDevice(deviceId: DeviceId): readonly LiveCall[] {
    return this.#byDevice.get(deviceId) ?? none;
  }

  all(): IterableIterator<LiveCall> {
    return this.#byId.values();
  }

  /** Takes up what the store holds. Throws when it cannot be read. */
  resume(): void {
    const wallMs = this.#deps.clock.wallMs();
    for (const { sessions } of this.#deps.records.all())
      for (const session of sessions) this.#hold(session, wallMs);
  }

  /** Ends the calls whose leases have run out. About once in `leaseTickMs`. */
  turn(): void {
    this.#wheel.turn(this.#deps.clock.monotonicMs());
  }

  /** Null: it has ended, or ends now because its lease is over. */
  live(sessionId: SessionId): LiveCall | null {
    const call = this.find(sessionId);
    return call === null || this.#endIfOver(call) ? null : call;
  }

  /** The same of the device's calls, in the order of their making. */
  liveOf(deviceId: DeviceId): readonly LiveCall[] {
    for (const call of this.ofDevice(deviceId)) this.#endIfOver(call);
    return this.ofDevice(deviceId);
  }

  issue(order: CallOrder): CallSession {
    const wallMs = this.#deps.clock.wallMs();
    const session = issueSession(generateSessionId(), order, wallMs);
    this.#hold(session, wallMs);
    this.#write(order.deviceId, null);
    return session;
  }

  issueAgain(call: LiveCall, order: CallOrder): Reissue {
    const wallMs = this.#deps.clock.wallMs();
    const reissue = reissueSession(call.session, order, wallMs);
    if (reissue.kind === 'media_in_use') return reissue;
    const { session } = reissue;
    call.session = session;
    if (session.state === 'issued') this.#lease(call, leftLeaseMs(session, wallMs));
    this.#write(order.deviceId, null);
    return reissue;
  }

  /** True: the state has changed. */
  advance(call: LiveCall, input: CallInput, by: CallLeg | null): boolean {
    const { session, change, leaseMs } = reduceCall(call.session, input, this.#deps.clock.wallMs());
    if (leaseMs !== null) this.#lease(call, leaseMs);
    if (change === null && session === call.session) return false;
    if (change?.state === 'ended') this.#letGo(call);
    else call.session = session;
    this.#write(session.deviceId, change);
    if (change === null) return false;
    this.#changed(call, change, by);
    return true;
  }

  /** Stores one number, or nothing. */
  renew(call: LiveCall, by: AliveSign): void {
    const leaseMs = renewedLeaseMs(call.session, by);
    if (leaseMs === null) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < call.deadlineMs) call.deadlineMs = nowMs + leaseMs;
  }

  #hold(session: CallSession, wallMs: number): void {
    const { sessionId, deviceId } = session;
    const call = new LiveCall(session);
    call.deadlineMs = this.#deps.clock.monotonicMs() + leftLeaseMs(session, wallMs);
    this.#byId.set(sessionId, call);
    this.#byDevice.set(deviceId, this.ofDevice(deviceId).concat(call));
    this.#wheel.add(call);
  }

  #letGo(call: LiveCall): void {
    const { sessionId, deviceId } = call.session;
    this.#byId.delete(sessionId);
    const others = this.ofDevice(deviceId).filter((other) => other !== call);
    if (others.length === 0) this.#byDevice.delete(deviceId);
    else this.#byDevice.set(deviceId, others);
    this.#wheel.remove(call);
  }

  #lease(call: LiveCall, leaseMs: number): void {
    const deadlineMs = this.#deps.clock.monotonicMs() + leaseMs;
    const isNearer = deadlineMs < call.deadlineMs;
    call.deadlineMs = deadlineMs;
    if (isNearer) this.#wheel.hasten(call);
  }

  #endIfOver(call: LiveCall): boolean {
    const isOver = this.#deps.clock.monotonicMs() >= call.deadlineMs;
    if (isOver) this.advance(call, leaseEnded, null);
    return isOver;
  }

  #write(deviceId: DeviceId, change: CallChange | null): void {
    const { records, telemetry } = this.#deps;
    const sessions = this.ofDevice(deviceId).map(({ session }) => session);
    records.write(deviceId, sessions, change === null ? null : callEvent(change));
    if (change !== null && change.reason !== null) telemetry.callEnd(change.reason);
  }
}
