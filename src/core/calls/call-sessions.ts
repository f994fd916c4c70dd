/**
 * The live calls in memory and in the store, each with its lease on one deadline wheel. Each change goes through the state machine
 * (model/state/call-session.ts) and is written, record and event together, before it is reported. The directory owns legs and
 * followers.
 *
 * A lease ends at its deadline, not when the wheel turns: a call that is looked up after the deadline has ended.
 */
import type { Clock } from '../../lib/clock.ts';
import { DeadlineWheel, type WheelEntry } from '../../lib/collections/deadline-wheel.ts';
import type { AliveSign, CallChange, CallOrder, CallSession, CallSide } from '../../model/call.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../model/ids.ts';
import { callEvent, reduceCall, type CallInput } from '../../model/state/call-session.ts';
import { issueSession, reissueSession, type Reissue } from '../../model/state/call-issuance.ts';
import { leftLeaseMs, renewedLeaseMs } from '../../model/state/call-lease.ts';
import type { CallLeg, PlacedLeg } from '../ports/leg-service.ts';
import type { CallRecords } from '../ports/records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

/** A session, its connected legs, and the end of its lease (monotonic milliseconds). */
export class LiveCall implements WheelEntry, Record<CallSide, PlacedLeg | null> {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  session: CallSession;
  device: PlacedLeg | null = null;
  bridge: PlacedLeg | null = null;
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

/** `call.session`: its current state; its last state if it has ended. `by`: the leg that caused the change; null: none. */
export type CallChanged = (call: LiveCall, change: CallChange, by: CallLeg | null) => void;

/** An expired lease is detected up to two ticks late, never early. */
export const leaseTickMs = 500;

const leaseEnded: CallInput = { kind: 'lease-ended' };

const none: readonly LiveCall[] = [];

export class CallSessions {
  readonly #byId = new Map<SessionId, LiveCall>();
  /** In order of issue. Lists are replaced, never mutated: most devices have one call, and a list then has no spare capacity. */
  readonly #byDevice = new Map<DeviceId, readonly LiveCall[]>();
  readonly #deps: CallDeps;
  readonly #changed: CallChanged;
  readonly #wheel: DeadlineWheel<LiveCall>;

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

  ofDevice(deviceId: DeviceId): readonly LiveCall[] {
    return this.#byDevice.get(deviceId) ?? none;
  }

  all(): IterableIterator<LiveCall> {
    return this.#byId.values();
  }

  /** Resumes the stored sessions. Throws when the store cannot be read. */
  resume(): void {
    const wallMs = this.#deps.clock.wallMs();
    for (const { sessions } of this.#deps.records.all())
      for (const session of sessions) this.#register(session, wallMs);
  }

  /** Ends the calls with expired leases; called about once per `leaseTickMs`. */
  turn(): void {
    this.#wheel.turn(this.#deps.clock.monotonicMs());
  }

  /** Null: it has ended, or ends now because its lease has expired. */
  live(sessionId: SessionId): LiveCall | null {
    const call = this.find(sessionId);
    return call === null || this.#endIfOver(call) ? null : call;
  }

  /** The device's live calls, in order of issue; ends those whose lease has expired. */
  liveOf(deviceId: DeviceId): readonly LiveCall[] {
    for (const call of this.ofDevice(deviceId)) this.#endIfOver(call);
    return this.ofDevice(deviceId);
  }

  issue(order: CallOrder): CallSession {
    const wallMs = this.#deps.clock.wallMs();
    const session = issueSession(generateSessionId(), order, wallMs);
    this.#register(session, wallMs);
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

  advance(call: LiveCall, input: CallInput, by: CallLeg | null): boolean {
    const { session, change, leaseMs } = reduceCall(call.session, input, this.#deps.clock.wallMs());
    if (leaseMs !== null) this.#lease(call, leaseMs);
    if (change === null && session === call.session) return false;
    if (change?.state === 'ended') this.#unregister(call);
    else call.session = session;
    this.#write(session.deviceId, change);
    if (change === null) return false;
    this.#changed(call, change, by);
    return true;
  }

  /** Hot path: stores one number at most. */
  renew(call: LiveCall, by: AliveSign): void {
    const leaseMs = renewedLeaseMs(call.session, by);
    if (leaseMs === null) return;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < call.deadlineMs) call.deadlineMs = nowMs + leaseMs;
  }

  #register(session: CallSession, wallMs: number): void {
    const { sessionId, deviceId } = session;
    const call = new LiveCall(session);
    call.deadlineMs = this.#deps.clock.monotonicMs() + leftLeaseMs(session, wallMs);
    this.#byId.set(sessionId, call);
    this.#byDevice.set(deviceId, this.ofDevice(deviceId).concat(call));
    this.#wheel.add(call);
  }

  #unregister(call: LiveCall): void {
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
