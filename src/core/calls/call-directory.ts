/**
 * The live call sessions of this process and their legs, for those who issue sessions and let legs in. A change is
 * written (call-sessions.ts), then notified to the followers, then to the legs. Who may connect is decided before
 * (leg-admission.ts). A leg that is no longer the session's own changes nothing. Source: calls-and-media.md, Call
 * sessions and call status.
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

/** `media_in_use`: answer 40903; `full`: answer 42901. Nothing has changed then. */
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

  /** For the life of the directory. */
  follow(follower: CallFollower): void {
    this.#followers.add(follower);
  }

  /**
   * Takes up what the store holds, before any listener accepts, and returns how many sessions that is. Followers are
   * not notified of them. Throws when the store cannot be read.
   */
  resume(): number {
    this.#sessions.resume();
    return this.size;
  }

  /** Ends leases from now on. */
  start(): Cancel {
    return this.#deps.clock.every(leaseTickMs, () => this.#followers.after(() => this.#sessions.turn()));
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Looks at every call: for the metrics. */
  countByState(): Record<LiveCallState, number> {
    const counts = { issued: 0, establishing: 0, ringing: 0, attempting: 0, connected: 0 };
    for (const { session } of this.#sessions.all()) counts[session.state] += 1;
    return counts;
  }

  find(sessionId: SessionId): CallSession | null {
    return this.#sessions.find(sessionId)?.session ?? null;
  }

  /** It has not ended, and its lease is not over either. */
  isLive(sessionId: SessionId): boolean {
    return this.#followers.after(() => this.#sessions.live(sessionId) !== null);
  }

  /** In the order of their making. */
  sessionsOf(deviceId: DeviceId): readonly CallSession[] {
    return this.#sessions.ofDevice(deviceId).map(({ session }) => session);
  }

  /** In the order of their making, those that a restart took up before them; safe against what comes and goes on the way. */
  *sessions(): IterableIterator<CallSession> {
    for (const { session } of this.#sessions.all()) yield session;
  }

  /** A device leg is connected now. */
  hasDevice(sessionId: SessionId): boolean {
    return (this.#sessions.find(sessionId)?.device ?? null) !== null;
  }

  /** The number of the media process that all its legs belong to, where the first of them came; null: none has come since the start. */
  processOf(sessionId: SessionId): number | null {
    return this.#sessions.find(sessionId)?.process ?? null;
  }

  /** A bridge leg is connected now. */
  hasBridge(sessionId: SessionId): boolean {
    return (this.#sessions.find(sessionId)?.bridge ?? null) !== null;
  }

  /** Device legs that are connected now. Looks at every call: for the metrics. */
  countDevices(): number {
    let devices = 0;
    for (const { device } of this.#sessions.all()) if (device !== null) devices += 1;
    return devices;
  }

  /** The session that the same application asked for, for the same device and room; null: none lives. */
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
   * Replaces the leg that is there, and ends the device's other sessions. False: there is no such live session, or it is at
   * another media process.
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

  /** Replaces the leg that is there. False: as above. */
  connectBridge(sessionId: SessionId, leg: PlacedLeg): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      if (call === null || !mayStandAt(call, leg)) return false;
      const isFirst = !call.session.hasSeenBridge;
      this.#attach(call, 'bridge', leg);
      this.#sessions.advance(call, { kind: 'bridge-connected' }, leg);
      if (isFirst) this.#followers.notify((follower) => follower.bridgeCame?.(call.session));
      return true;
    });
  }

  /** The leg is gone; the session waits for it while its lease lasts. Nothing, if it is not the current one. */
  disconnected(sessionId: SessionId, side: CallSide, leg: CallLeg): void {
    this.#followers.after(() => {
      const call = this.#current(sessionId, side, leg);
      if (call === null) return;
      call[side] = null;
      if (side === 'bridge') this.#followers.notify((follower) => follower.bridgeGone?.(call.session));
    });
  }

  report(sessionId: SessionId, side: CallSide, leg: CallLeg, report: CallReport): void {
    this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      const { telemetry } = this.#deps;
      if (call === null || call[side] !== leg) return telemetry.callReport('stray');
      const isTaken = this.#sessions.advance(call, { kind: 'reported', report }, leg);
      telemetry.callReport(isTaken ? 'taken' : 'repeated');
    });
  }

  /** A frame, or a ping, has come on this leg. Cheap: for every frame. */
  alive(sessionId: SessionId, side: CallSide, leg: CallLeg, by: AliveSign): void {
    const call = this.#current(sessionId, side, leg);
    if (call !== null) this.#sessions.renew(call, by);
  }

  /** By a backend, an operator, or the server because a device was disabled. False: there is no such live session. */
  end(sessionId: SessionId, reason: CallEndReason): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      return call !== null && this.#sessions.advance(call, { kind: 'ended', reason }, null);
    });
  }

  /** By the device's controller, of a call of its own. False: there is no such live session, or it is connected. */
  reject(deviceId: DeviceId, { sessionId, reason }: CallRejection): boolean {
    return this.#followers.after(() => {
      const call = this.#sessions.live(sessionId);
      if (call?.session.deviceId !== deviceId) return false;
      return this.#sessions.advance(call, { kind: 'rejected', reason }, null);
    });
  }

  /** Resolves when what is known of the device's sessions is committed; null when it is. */
  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#deps.records.committed(deviceId);
  }

  /** Closes every leg; the sessions stay as they are, for the next process. */
  drain(): void {
    this.#followers.after(() => {
      for (const call of this.#sessions.all())
        for (const side of callSides) this.#detach(call, side, 'drain');
    });
  }

  /** For one session more of the device: of too many the one longest issued goes. False: there is no room. */
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
    if (leg !== null) this.#followers.putOff(() => leg.close(reason));
  }

  #changed(call: LiveCall, change: CallChange, by: CallLeg | null): void {
    const { session } = call;
    this.#followers.notify((follower) => follower.changed?.(session, change));
    this.#followers.putOff(() => notifyLegs(call, change, by));
  }
}

function notifyLegs(call: LiveCall, { sessionId, state, reason }: CallChange, by: CallLeg | null): void {
  for (const side of callSides) {
    const leg = call[side];
    if (leg !== null && leg !== by) leg.notify({ kind: 'state', sessionId, state, reason });
    if (state === 'ended') leg?.close('ended');
  }
}

/** Frames go from leg to leg within one media process. */
function mayStandAt({ process }: LiveCall, leg: PlacedLeg): boolean {
  return process === null || process === leg.process;
}

/** Of two of one device. */
function isOfSameCall(one: CallOrder, other: CallOrder): boolean {
  return one.appId === other.appId && one.room.roomId === other.room.roomId;
}
