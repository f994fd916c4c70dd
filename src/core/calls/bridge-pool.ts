/**
 * Assigns calls to idle bridges. Once a leg of the call is connected, only bridges of its media process are asked; before that,
 * bridges of the expected process first, then by room of the processes. Within a process bridges are asked in the order in which
 * they became idle: each once per call, and about one call at a time. A call without a bridge waits while it lives, and a bridge
 * that becomes idle is asked about the oldest call that it may serve. connected-bridge.ts sends the messages to the bridge.
 *
 * An answer does not name its call. So a bridge whose question is moot, because the call ended or found another bridge, is asked
 * nothing new until it has answered or its time is up: its `accept`, already on its way, must not be applied to another call. Only
 * an `accept` that arrives even later can be.
 *
 * A call that a bridge's media process cannot carry was not refused by the bridge. It waits and is offered there again when that
 * process reports its load, once a second: oldest first, each once, the next one after a refusal.
 *
 * Bounds: the calls are the live sessions (`callsMax`), the bridges the legs of the listener. Source: calls-and-media.md, Legs.
 */
import type { CallChange, CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import { bridgeAnswerMsMax, loadOffersMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { BridgeAnswerLabel, Telemetry } from '../../telemetry/telemetry.ts';
import { ApplicationLines } from '../devices/application-lines.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';
import type { MediaPlacement } from './media-placement.ts';
import { isFree, mayBeAsked, OfferedCall, type IdleBridge, type WaitsFor } from './offered-call.ts';

interface BridgePoolDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly telemetry: Telemetry;
  readonly directory: Pick<CallDirectory, 'find' | 'sessions' | 'hasBridge'>;
  readonly placement: Pick<MediaPlacement, 'order' | 'mayBeAt' | 'expect'>;
  /** When a call is first offered: when it is issued, or when its device connects. */
  readonly assign: 'issuance' | 'device';
}

export class BridgePool implements CallFollower {
  readonly #deps: BridgePoolDeps;
  readonly #calls = new Map<SessionId, OfferedCall>();
  readonly #waiting = new ApplicationLines<OfferedCall>();
  /** Waiting calls that a media process cannot carry, the most recently refused one last. */
  readonly #uncarried = new Set<OfferedCall>();
  readonly #idle = new ApplicationLines<IdleBridge>();
  #idleCount = 0;
  #lastPlace = 0;

  constructor(deps: BridgePoolDeps) {
    this.#deps = deps;
  }

  get idleCount(): number {
    return this.#idleCount;
  }

  hasIdleFor(appId: ApplicationId): boolean {
    return this.#idle.first([appId, null], isFree) !== null;
  }

  /** Resumes the sessions of the directory, before any listener accepts, or once their legs are handed over. */
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

  /** After `establishing` the phone is in the room with the lost bridge, so the call waits for that one to return. */
  bridgeLost(session: CallSession): void {
    if (session.state === 'establishing') this.#offer(this.#callOf(session));
  }

  join(bridge: IdleBridge): void {
    bridge.place = this.#nextPlace();
    this.#idle.add(bridge);
    this.#idleCount += 1;
    this.#seekCall(bridge);
  }

  /** Removes a bridge that disconnected while idle. A bridge that was assigned a call has left already. */
  leave(bridge: IdleBridge): void {
    const call = this.#endQuestion(bridge, 'gone');
    this.#remove(bridge);
    if (call !== null) this.#seekBridge(call);
  }

  /** Ignored without a pending question. */
  answer(bridge: IdleBridge, accepted: boolean): void {
    if (isFree(bridge)) return;
    if (!accepted) return this.#decline(bridge, 'refused');
    const call = this.#endQuestion(bridge, 'accepted');
    this.#remove(bridge);
    if (call === null || !this.#assign(bridge, call)) this.join(bridge);
  }

  /** The bridge's media process cannot carry the call and did not ask the bridge, which keeps its place. */
  cannotCarry(bridge: IdleBridge, why: ReservationRefusal): void {
    if (isFree(bridge)) return;
    const call = this.#endQuestion(bridge, why);
    if (call !== null) this.#leaveUncarried(call, bridge, why);
    this.#seekCall(bridge);
  }

  /** The media process has reported its load: calls that it could not carry may have room now. */
  offerAgain(process: number): void {
    const untried = [...this.#uncarried].filter((call) => call.uncarriedBy.get(process) === 'load');
    const calls = untried.slice(0, loadOffersMax).toSorted((one, other) => one.place - other.place);
    for (const call of calls) call.uncarriedBy.delete(process);
    for (const call of calls) if (call.isWaiting && call.askedOf === null) this.#seekBridge(call);
  }

  /** The media process ended; its successor may carry more. */
  processLost(process: number): void {
    for (const call of this.#uncarried)
      if (call.uncarriedBy.delete(process) && call.uncarriedBy.size === 0) call.waitsFor = 'bridge';
  }

  waitsFor(sessionId: SessionId): WaitsFor | null {
    const call = this.#calls.get(sessionId);
    return call?.isWaiting === true ? call.waitsFor : null;
  }

  /** Scans all calls: for metrics. */
  countWaiting(): Record<WaitsFor, number> {
    const counts = { bridge: 0, load: 0, engine: 0 };
    for (const { isWaiting, waitsFor } of this.#calls.values()) if (isWaiting) counts[waitsFor] += 1;
    return counts;
  }

  /** A bridge connected for this session on its own: no other is asked. */
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

  /** Stops offering the call; a pending question stays open, and its answer is ignored. */
  #withdraw(call: OfferedCall): void {
    if (!call.isWaiting) return;
    this.#waiting.remove(call);
    this.#uncarried.delete(call);
    call.waitNoLonger();
  }

  /** The device has connected and fixed the media process of the call: bridges of other processes may no longer serve it. */
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

  /** Sends the question last: it may make the bridge leave. */
  #ask(bridge: IdleBridge, call: OfferedCall): void {
    const cancel = this.#deps.clock.after(bridgeAnswerMsMax, () => this.#decline(bridge, 'unanswered'));
    bridge.question = { call, cancel };
    bridge.asked.add(call);
    call.askedOf = bridge;
    this.#deps.placement.expect(call.sessionId, bridge.process);
    bridge.candidate.ask(call.sessionId);
  }

  #leaveUncarried(call: OfferedCall, bridge: IdleBridge, why: ReservationRefusal): void {
    bridge.asked.delete(call);
    if (call.waitsFor === 'bridge') {
      const { sessionId } = call;
      this.#deps.log.warn(
        { session: sessionId, why },
        'call waits: no media process can transcode its pictures now; will retry',
      );
    }
    call.waitsFor = why;
    call.uncarriedBy.set(bridge.process, why);
    this.#uncarried.delete(call);
    this.#uncarried.add(call);
    this.#seekBridge(call);
  }

  /** The bridge stays idle and moves to the end of the line: one that never answers must not be first for each call. */
  #decline(bridge: IdleBridge, result: 'refused' | 'unanswered'): void {
    const call = this.#endQuestion(bridge, result);
    if (call !== null) {
      call.waitsFor = 'bridge';
      this.#seekBridge(call);
    }
    this.#remove(bridge);
    this.join(bridge);
  }

  /** False: the call has ended meanwhile. */
  #assign(bridge: IdleBridge, call: OfferedCall): boolean {
    this.#withdraw(call);
    const session = this.#deps.directory.find(call.sessionId);
    return session !== null && bridge.candidate.startCall(session);
  }

  #remove(bridge: IdleBridge): void {
    this.#idle.remove(bridge);
    this.#idleCount -= 1;
  }

  /** Closes the pending question and returns its call; null: moot, or no question. */
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
