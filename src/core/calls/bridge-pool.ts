/**
 * Assigns calls to idle bridges: once a leg of the call has come, those at its media process; before, those at the one with
 * the most room, then the others. Of one process they are asked in the order in which they became idle, each once about a call
 * and about one call at a time; a call that found nobody waits while it lives, and a bridge that becomes idle is asked
 * about the oldest one that it may have. What a bridge is told of a call that it got is not known here
 * (connected-bridge.ts).
 *
 * An answer does not say which call it means. So a bridge whose question has become moot, because the call is over or
 * has its bridge otherwise, is asked nothing new until it has answered or its time is up: its `accept`, already on its
 * way, is then not taken for another call's. One that comes even after its own time may be.
 *
 * A call that the bridge's media process cannot carry was not refused by the bridge. It waits, and is offered there again
 * when that process tells its load anew, once a second: oldest first, each once, the next when one is refused.
 *
 * The calls here are the live sessions, bounded by `callsMax`; the bridges are bounded by the listener's legs.
 * Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallChange, CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import { bridgeAnswerMsMax, loadOffersMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { Log } from '../../lib/log.ts';
import type { BridgeAnswerLabel, Telemetry } from '../../telemetry/telemetry.ts';
import { ApplicationLines } from '../devices/application-lines.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';
import type { MediaPlacement } from './media-placement.ts';
import { isFree, mayBeAsked, OfferedCall, type IdleBridge, type WaitsFor } from './offered-call.ts';

interface BridgePoolDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly directory: Pick<CallDirectory, 'find' | 'sessions' | 'hasBridge'>;
  readonly placement: Pick<MediaPlacement, 'order' | 'mayBeAt' | 'expect'>;
  /** When a call is first offered: once it is issued, or when its device connects. */
  readonly assign: 'issuance' | 'device';
}

export class BridgePool implements CallFollower {
  readonly #deps: BridgePoolDeps;
  readonly #calls = new Map<SessionId, OfferedCall>();
  readonly #waiting = new ApplicationLines<OfferedCall>();
  /** Those of them that a media process cannot carry; the one that was refused last is the last. */
  readonly #uncarried = new Set<OfferedCall>();
  readonly #idle = new ApplicationLines<IdleBridge>();
  #idleCount = 0;
  #lastPlace = 0;

  constructor(deps: BridgePoolDeps) {
    this.#deps = deps;
  }

  /** Those that are being asked included. */
  get idleCount(): number {
    return this.#idleCount;
  }

  /** True: a bridge is idle that may have calls of the application and is not being asked about another one. */
  hasIdleFor(appId: ApplicationId): boolean {
    return this.#idle.first([appId, null], isFree) !== null;
  }

  /** Takes up the sessions that the directory has resumed, before any listener accepts, or once their legs are brought. */
  resume(): void {
    const sessions = Array.from(this.#deps.directory.sessions());
    for (const session of sessions.toSorted((one, other) => one.createdAtMs - other.createdAtMs)) {
      const call = this.#callOf(session);
      if (this.#lacksBridge(session)) this.#offer(call);
    }
  }

  issued(session: CallSession): void {
    const call = this.#callOf(session);
    if (this.#deps.assign === 'issuance') return this.#offer(call);
    const bridge = this.#bridgeFor(call);
    if (bridge !== null) this.#deps.placement.expect(session.sessionId, bridge.process);
  }

  changed(session: CallSession, { from, state }: CallChange): void {
    const call = this.#callOf(session);
    if (state === 'ended') {
      this.#withdraw(call);
      this.#calls.delete(session.sessionId);
    } else if (from === 'issued' && session.hasSeenDevice) {
      this.#stopAskingElsewhere(call);
      this.#offer(call);
    }
  }

  /** Later than `establishing` the phone is in the room with the lost one, and that one is waited for. */
  bridgeGone(session: CallSession): void {
    if (session.state === 'establishing') this.#offer(this.#callOf(session));
  }

  /** It is idle from now on, and may be asked at once. */
  join(bridge: IdleBridge): void {
    bridge.place = this.#nextPlace();
    this.#idle.add(bridge);
    this.#idleCount += 1;
    this.#seekCall(bridge);
  }

  /** It is not here any more. Not for one that was given a call: that one has left by it. */
  leave(bridge: IdleBridge): void {
    const call = this.#endQuestion(bridge, 'gone');
    this.#remove(bridge);
    if (call !== null) this.#seekBridge(call);
  }

  /** Nothing, if it is asked nothing or its time was up. */
  answer(bridge: IdleBridge, accepted: boolean): void {
    if (isFree(bridge)) return;
    if (!accepted) return this.#decline(bridge, 'refused');
    const call = this.#endQuestion(bridge, 'accepted');
    this.#remove(bridge);
    if (call === null || !this.#give(bridge, call)) this.join(bridge);
  }

  /** Its media process cannot carry the call it was asked about: it was not told of it, and keeps its place. */
  cannotCarry(bridge: IdleBridge, why: ReservationRefusal): void {
    if (isFree(bridge)) return;
    const call = this.#endQuestion(bridge, why);
    if (call !== null) this.#leaveUncarried(call, bridge, why);
    this.#seekCall(bridge);
  }

  /** The media process has told its load anew: what it could not carry may have room now. */
  offerAgain(process: number): void {
    const untried = [...this.#uncarried].filter((call) => call.uncarriedBy.get(process) === 'load');
    const calls = untried.slice(0, loadOffersMax).toSorted((one, other) => one.place - other.place);
    for (const call of calls) call.uncarriedBy.delete(process);
    for (const call of calls) if (call.isWaiting && call.askedOf === null) this.#seekBridge(call);
  }

  /** The media process is gone; the one that comes in its place may carry more. */
  processGone(process: number): void {
    for (const call of this.#uncarried)
      if (call.uncarriedBy.delete(process) && call.uncarriedBy.size === 0) call.waitsFor = 'bridge';
  }

  /** Null: it has its bridge, or wants none. */
  waitsFor(sessionId: SessionId): WaitsFor | null {
    const call = this.#calls.get(sessionId);
    return call?.isWaiting === true ? call.waitsFor : null;
  }

  /** Looks at every call: for the metrics. */
  countWaiting(): Record<WaitsFor, number> {
    const counts = { bridge: 0, load: 0, engine: 0 };
    for (const { isWaiting, waitsFor } of this.#calls.values()) if (isWaiting) counts[waitsFor] += 1;
    return counts;
  }

  /** A bridge came for this session by itself: nobody else is asked. */
  served(sessionId: SessionId): void {
    const call = this.#calls.get(sessionId);
    if (call !== undefined) this.#withdraw(call);
  }

  #callOf(session: CallSession): OfferedCall {
    let call = this.#calls.get(session.sessionId);
    if (call === undefined) {
      call = new OfferedCall(session, this.#nextPlace());
      this.#calls.set(session.sessionId, call);
    }
    return call;
  }

  /** True: a session that comes out of the store is to be offered. */
  #lacksBridge({ sessionId, state, hasSeenBridge }: CallSession): boolean {
    if (this.#deps.directory.hasBridge(sessionId)) return false;
    if (state === 'issued') return this.#deps.assign === 'issuance';
    return state === 'establishing' || !hasSeenBridge;
  }

  #offer(call: OfferedCall): void {
    if (call.isWaiting) return;
    call.isWaiting = true;
    this.#waiting.add(call);
    this.#seekBridge(call);
  }

  /** It is offered no more; whoever is being asked owes an answer that will mean nothing. */
  #withdraw(call: OfferedCall): void {
    if (!call.isWaiting) return;
    this.#waiting.remove(call);
    this.#uncarried.delete(call);
    call.waitNoLonger();
  }

  /** Its device has come, and with it the call is at a media process: a bridge of another one may have it no more. */
  #stopAskingElsewhere(call: OfferedCall): void {
    if (call.askedOf === null || this.#deps.placement.mayBeAt(call.sessionId, call.askedOf.process)) return;
    call.dropQuestion();
    this.#seekBridge(call);
  }

  #seekBridge(call: OfferedCall): void {
    const bridge = this.#bridgeFor(call);
    if (bridge !== null) this.#ask(bridge, call);
  }

  #bridgeFor(call: OfferedCall): IdleBridge | null {
    for (const process of this.#deps.placement.order(call.sessionId)) {
      const mayAsk = (one: IdleBridge): boolean =>
        one.process === process && isFree(one) && mayBeAsked(one, call);
      const bridge = this.#idle.first(call.lines, mayAsk);
      if (bridge !== null) return bridge;
    }
    return null;
  }

  #seekCall(bridge: IdleBridge): void {
    const { placement } = this.#deps;
    const mayAsk = (call: OfferedCall): boolean =>
      call.askedOf === null && mayBeAsked(bridge, call) && placement.mayBeAt(call.sessionId, bridge.process);
    const call = this.#waiting.first(bridge.lines, mayAsk);
    if (call !== null) this.#ask(bridge, call);
  }

  /** The question comes last: by it the bridge may leave. */
  #ask(bridge: IdleBridge, call: OfferedCall): void {
    const cancel = this.#deps.clock.after(bridgeAnswerMsMax, () => this.#decline(bridge, 'unanswered'));
    bridge.question = { call, cancel };
    bridge.asked.add(call);
    call.askedOf = bridge;
    this.#deps.placement.expect(call.sessionId, bridge.process);
    bridge.candidate.ask(call.sessionId);
  }

  /** The next to be asked is a bridge at another media process. */
  #leaveUncarried(call: OfferedCall, bridge: IdleBridge, why: ReservationRefusal): void {
    bridge.asked.delete(call);
    if (call.waitsFor === 'bridge') {
      const { sessionId } = call;
      this.#deps.log.warn(
        { session: sessionId, why },
        'a call waits: its pictures cannot be made at the moment',
      );
    }
    call.waitsFor = why;
    call.uncarriedBy.set(bridge.process, why);
    this.#uncarried.delete(call);
    this.#uncarried.add(call);
    this.#seekBridge(call);
  }

  /** It stays idle, and is the last to be asked: one that never answers must not be the first to every call. */
  #decline(bridge: IdleBridge, result: 'refused' | 'unanswered'): void {
    const call = this.#endQuestion(bridge, result);
    if (call !== null) {
      call.waitsFor = 'bridge';
      this.#seekBridge(call);
    }
    this.#remove(bridge);
    this.join(bridge);
  }

  /** False: the call is over by now. */
  #give(bridge: IdleBridge, call: OfferedCall): boolean {
    this.#withdraw(call);
    const session = this.#deps.directory.find(call.sessionId);
    return session !== null && bridge.candidate.give(session);
  }

  #remove(bridge: IdleBridge): void {
    this.#idle.remove(bridge);
    this.#idleCount -= 1;
  }

  /** Returns the call it was about; null when it is moot, or nothing was asked. */
  #endQuestion(bridge: IdleBridge, result: BridgeAnswerLabel): OfferedCall | null {
    const { question } = bridge;
    if (question === null) return null;
    question.cancel();
    bridge.question = null;
    if (question.call !== null) question.call.askedOf = null;
    this.#deps.telemetry.bridgeAnswer(question.call === null ? 'gone' : result);
    return question.call;
  }

  #nextPlace(): number {
    this.#lastPlace += 1;
    return this.#lastPlace;
  }
}
