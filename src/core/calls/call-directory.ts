/**
 * The live call sessions of this process and their legs. A change is written first (call-sessions.ts), then notified to followers,
 * then to legs. leg-admission.ts decides who may connect. Reports of a leg that is no longer the session's current one change
 * nothing. Source: calls-and-media.md, Call sessions and call status.
 */
import type { Cancel } from '../../lib/clock.ts';
import {
  callSides,
  type AliveSign,
  type CallChange,
  type CallEndReason,
  type CallOrder,
  type CallRejection,
  type CallReport,
  type CallSession,
  type CallSide,
  type LegCloseReason,
  type LiveCallState,
} from '../../model/call.ts';
import type { DeviceId, SessionId, TokenId } from '../../model/ids.ts';
import { callsMax, callsPerDeviceMax } from '../../model/limits.ts';
import type { CallLeg, PlacedLeg } from '../ports/leg-service.ts';
import { CallSessions, leaseTickMs, type CallDeps, type LiveCall } from './call-sessions.ts';
import { CallFollowers, type CallFollower } from './call-followers.ts';

/** `media_in_use`: answer 40903; `full`: answer 42901; nothing has changed. */
export type IssueResult =
  | { readonly kind: 'issued' | 'renewed' | 'changed'; readonly session: CallSession }
  | { readonly kind: 'media_in_use' }
  | { readonly kind: 'full' };

export class CallDirectory {
  readonly #deps: CallDeps;
  readonly #sessionsMax: number;
  readonly #sessions: CallSessions;
  readonly #followers = new CallFollowers();

  constructor(deps: CallDeps, sessionsMax = callsMax) {
    this.#deps = deps;
    this.#sessionsMax = sessionsMax;
    this.#sessions = new CallSessions(deps, (call, change, by) => this.#changed(call, change, by));
  }

  follow(follower: CallFollower): void {
    this.#followers.add(follower);
  }

  /**
   * Resumes the stored sessions before any listener accepts, without notifying followers; returns their number. Throws when the
   * store cannot be read.
   */
  resume(): number {
    this.#sessions.resume();
    return this.size;
  }

  start(): Cancel {
    return this.#deps.clock.every(leaseTickMs, () => this.#followers.after(() => this.#sessions.turn()));
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Scans all calls: for metrics. */
  countByState(): Record<LiveCallState, number> {
    const counts = { issued: 0, establishing: 0, ringing: 0, attempting: 0, connected: 0 };
    for (const { session } of this.#sessions.all()) counts[session.state] += 1;
    return counts;
  }

  find(sessionId: SessionId): CallSession | null {
    return this.#sessions.find(sessionId)?.session ?? null;
  }

  isLive(sessionId: SessionId): boolean {
    return this.#followers.after(() => this.#sessions.live(sessionId) !== null);
  }

  /** In order of issue. */
  sessionsOf(deviceId: DeviceId): readonly CallSession[] {
    return this.#sessions.ofDevice(deviceId).map(({ session }) => session);
  }

  /** In order of issue, resumed ones first; safe against concurrent changes. */
  *sessions(): IterableIterator<CallSession> {
    for (const { session } of this.#sessions.all()) yield session;
  }

  hasDevice(sessionId: SessionId): boolean {
    return (this.#sessions.find(sessionId)?.device ?? null) !== null;
  }

  /** Number of the media process of its legs, fixed by the first leg; null: no leg since the start. */
  processOf(sessionId: SessionId): number | null {
    return this.#sessions.find(sessionId)?.process ?? null;
  }

  hasBridge(sessionId: SessionId): boolean {
    return (this.#sessions.find(sessionId)?.bridge ?? null) !== null;
  }

  /** Connected device legs. Scans all calls: for metrics. */
  countDevices(): number {
    let devices = 0;
    for (const { device } of this.#sessions.all()) if (device !== null) devices += 1;
    return devices;
  }

  /** The live session of the same application, device and room; null: none. */
  findIssued(order: CallOrder): CallSession | null {
    return this.sessionsOf(order.deviceId).find((session) => isOfSameCall(session, order)) ?? null;
  }

  issue(order: CallOrder): IssueResult {
    return this.#followers.after(() => {
      const known = this.#sessions.liveOf(order.deviceId).find(({ session }) => isOfSameCall(session, order));
      if (known !== undefined) return this.#sessions.issueAgain(known, order);
      if (!this.#makeRoom(order.deviceId)) return { kind: 'full' };
      const session = this.#sessions.issue(order);
      this.#followers.notify((follower) => follower.issued?.(session));
      return { kind: 'issued', session };
    });
  }

  /**
   * Replaces the current device leg and ends the device's other sessions. False: no such live session, or it is at another media
   * process.
   */
  connectDevice(sessionId: SessionId, tokenId: TokenId, leg: PlacedLeg): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      if (call === null || !mayStandAt(call, leg)) return false;
      for (const other of this.#sessions.liveOf(call.session.deviceId))
        if (other !== call) this.#sessions.advance(other, { kind: 'ended', reason: 'replaced' }, null);
      this.#attach(call, 'device', leg);
      this.#sessions.advance(call, { kind: 'device-connected', tokenId }, leg);
      return true;
    });
  }

  /** Replaces the current bridge leg. False: as above. */
  connectBridge(sessionId: SessionId, leg: PlacedLeg): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      if (call === null || !mayStandAt(call, leg)) return false;
      const isFirst = !call.session.hasSeenBridge;
      this.#attach(call, 'bridge', leg);
      this.#sessions.advance(call, { kind: 'bridge-connected' }, leg);
      if (isFirst) this.#followers.notify((follower) => follower.bridgeConnected?.(call.session));
      return true;
    });
  }

  /** The leg disconnected; the session waits for it until the lease ends. Ignored if the leg is not the current one. */
  disconnected(sessionId: SessionId, side: CallSide, leg: CallLeg): void {
    this.#followers.after(() => {
      const call = this.#current(sessionId, side, leg);
      if (call === null) return;
      call[side] = null;
      if (side === 'bridge') this.#followers.notify((follower) => follower.bridgeLost?.(call.session));
    });
  }

  report(sessionId: SessionId, side: CallSide, leg: CallLeg, report: CallReport): void {
    this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      const { telemetry } = this.#deps;
      if (call === null || call[side] !== leg) return telemetry.callReport('stray');
      const hasChanged = this.#sessions.advance(call, { kind: 'reported', report }, leg);
      telemetry.callReport(hasChanged ? 'taken' : 'repeated');
    });
  }

  /** A frame or ping has arrived on this leg. Cheap enough for each frame. */
  alive(sessionId: SessionId, side: CallSide, leg: CallLeg, by: AliveSign): void {
    const call = this.#current(sessionId, side, leg);
    if (call !== null) this.#sessions.renew(call, by);
  }

  /** Ends a call on behalf of a backend, an operator, or the server when a device is disabled. False: no such live session. */
  end(sessionId: SessionId, reason: CallEndReason): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      return call !== null && this.#sessions.advance(call, { kind: 'ended', reason }, null);
    });
  }

  /** Rejects a call on behalf of the device's controller. False: no such live session of the device, or it is connected. */
  reject(deviceId: DeviceId, { sessionId, reason }: CallRejection): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      if (call?.session.deviceId !== deviceId) return false;
      return this.#sessions.advance(call, { kind: 'rejected', reason }, null);
    });
  }

  /** Resolves once the current state of the device's sessions is committed; null: already committed. */
  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#deps.records.committed(deviceId);
  }

  /** Closes all legs; the sessions stay for the next process. */
  drain(): void {
    this.#followers.after(() => {
      for (const call of this.#sessions.all())
        for (const side of callSides) this.#detach(call, side, 'drain');
    });
  }

  /** Makes room for one more session of the device: at the limit, its oldest issued session ends. False: no room. */
  #makeRoom(deviceId: DeviceId): boolean {
    const calls = this.#sessions.ofDevice(deviceId);
    if (calls.length >= callsPerDeviceMax) {
      const oldest = calls.find(({ session }) => session.state === 'issued');
      if (oldest === undefined) return false;
      this.#sessions.advance(oldest, { kind: 'ended', reason: 'replaced' }, null);
    }
    return this.size < this.#sessionsMax;
  }

  #current(sessionId: SessionId, side: CallSide, leg: CallLeg): LiveCall | null {
    const call = this.#sessions.find(sessionId);
    return call !== null && call[side] === leg ? call : null;
  }

  #attach(call: LiveCall, side: CallSide, leg: PlacedLeg): void {
    if (call[side] !== leg) this.#detach(call, side, 'replaced');
    call[side] = leg;
    call.process = leg.process;
  }

  #detach(call: LiveCall, side: CallSide, reason: LegCloseReason): void {
    const leg = call[side];
    call[side] = null;
    if (leg !== null) this.#followers.defer(() => leg.close(reason));
  }

  #changed(call: LiveCall, change: CallChange, by: CallLeg | null): void {
    const { session } = call;
    this.#followers.notify((follower) => follower.changed?.(session, change));
    this.#followers.defer(() => notifyLegs(call, change, by));
  }
}

function notifyLegs(call: LiveCall, { sessionId, state, reason }: CallChange, by: CallLeg | null): void {
  for (const side of callSides) {
    const leg = call[side];
    if (leg !== null && leg !== by) leg.notify({ kind: 'state', sessionId, state, reason });
    if (state === 'ended') leg?.close('ended');
  }
}

/** Frames pass between legs within one media process only. */
function mayStandAt({ process }: LiveCall, leg: PlacedLeg): boolean {
  return process === null || process === leg.process;
}

function isOfSameCall(one: CallOrder, other: CallOrder): boolean {
  return one.appId === other.appId && one.room.roomId === other.room.roomId;
}
