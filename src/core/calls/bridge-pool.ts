/**
 * Assigns calls to idle bridges. Idle bridges are asked in the order in which they became idle, each once about a call
 * and about one call at a time; a call that found nobody waits while it lives, and a bridge that becomes idle is asked
 * about the oldest one that it may have. What a bridge is told of a call that it got is not known here
 * (connected-bridge.ts).
 *
 * An answer does not say which call it means. So a bridge whose question has become moot, because the call is over or
 * has its bridge otherwise, is asked nothing new until it has answered or its time is up: its `accept`, already on its
 * way, is then not taken for another call's. One that comes even after its own time may be.
 *
 * The calls here are the live sessions, bounded by `callsMax`; the bridges are bounded by the listener's legs.
 * Source: calls-and-media.md, Legs.
 */
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { CallChange, CallSession } from '../../model/call.ts';
import type { ApplicationId, SessionId } from '../../model/ids.ts';
import { bridgeAnswerMsMax } from '../../model/limits.ts';
import type { BridgeAnswerLabel, Telemetry } from '../../telemetry/telemetry.ts';
import { ApplicationLines, type LineKey, type Waiter } from '../devices/application-lines.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';

interface BridgePoolDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly directory: Pick<CallDirectory, 'find' | 'sessions'>;
  /** When a call is first offered: once it is issued, or when its device connects. */
  readonly assign: 'issuance' | 'device';
}

export class BridgePool implements CallFollower {
  readonly #deps: BridgePoolDeps;
  readonly #calls = new Map<SessionId, OfferedCall>();
  readonly #waiting = new ApplicationLines<OfferedCall>();
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

  /** Takes up the sessions that the directory has resumed, before any listener accepts. */
  resume(): void {
    const sessions = Array.from(this.#deps.directory.sessions());
    for (const session of sessions.toSorted((one, other) => one.createdAtMs - other.createdAtMs))
      this.adopted(session);
  }

  adopted(session: CallSession): void {
    const call = this.#callOf(session);
    if (this.#lacksBridge(session)) this.#offer(call);
  }

  released(session: CallSession): void {
    this.#withdraw(this.#callOf(session));
    this.#calls.delete(session.sessionId);
  }

  issued(session: CallSession): void {
    const call = this.#callOf(session);
    if (this.#deps.assign === 'issuance') this.#offer(call);
  }

  changed(session: CallSession, { from, state }: CallChange): void {
    const call = this.#callOf(session);
    if (state === 'ended') {
      this.#withdraw(call);
      this.#calls.delete(session.sessionId);
    } else if (from === 'issued' && session.hasSeenDevice) this.#offer(call);
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
  #lacksBridge({ state, hasSeenBridge }: CallSession): boolean {
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
    call.isWaiting = false;
    this.#waiting.remove(call);
    const question = call.askedOf?.question ?? null;
    if (question !== null) question.call = null;
    call.askedOf = null;
  }

  #seekBridge(call: OfferedCall): void {
    const bridge = this.#idle.first(call.lines, (one) => isFree(one) && !one.asked.has(call));
    if (bridge !== null) this.#ask(bridge, call);
  }

  #seekCall(bridge: IdleBridge): void {
    const call = this.#waiting.first(bridge.lines, (one) => one.askedOf === null && !bridge.asked.has(one));
    if (call !== null) this.#ask(bridge, call);
  }

  /** The question comes last: by it the bridge may leave. */
  #ask(bridge: IdleBridge, call: OfferedCall): void {
    const cancel = this.#deps.clock.after(bridgeAnswerMsMax, () => this.#decline(bridge, 'unanswered'));
    bridge.question = { call, cancel };
    bridge.asked.add(call);
    call.askedOf = bridge;
    bridge.candidate.ask(call.sessionId);
  }

  /** It stays idle, and is the last to be asked: one that never answers must not be the first to every call. */
  #decline(bridge: IdleBridge, result: 'refused' | 'unanswered'): void {
    const call = this.#endQuestion(bridge, result);
    if (call !== null) this.#seekBridge(call);
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

function isFree(bridge: IdleBridge): boolean {
  return bridge.question === null;
}

/** The leg of an idle bridge. Either call may make it leave the pool in the same turn. */
export interface BridgeCandidate {
  /** Will you take this call? */
  ask(sessionId: SessionId): void;
  /** It is yours. False: it is over by now, and the bridge stays idle. */
  give(session: CallSession): boolean;
}

interface Question {
  /** Null: the call is over, or has its bridge otherwise; the one that was asked still owes its answer. */
  call: OfferedCall | null;
  readonly cancel: Cancel;
}

const everyApplication: readonly LineKey[] = [null];

export class IdleBridge implements Waiter {
  readonly candidate: BridgeCandidate;
  readonly lines: readonly LineKey[];
  /** In the order in which they became idle, or last let a call go by. */
  place = 0;
  question: Question | null = null;
  /** The calls that it was asked to take: it is asked once. */
  readonly asked = new WeakSet<OfferedCall>();

  /** `appIds` null: every application's. */
  constructor(candidate: BridgeCandidate, appIds: readonly ApplicationId[] | null) {
    this.candidate = candidate;
    this.lines = appIds ?? everyApplication;
  }
}

/** A call from its issuance to its end: it may want a bridge again. */
export class OfferedCall implements Waiter {
  readonly sessionId: SessionId;
  readonly lines: readonly LineKey[];
  /** In the order of their issuance. */
  readonly place: number;
  isWaiting = false;
  /** The bridge that is being asked to take it. */
  askedOf: IdleBridge | null = null;

  constructor({ sessionId, appId }: CallSession, place: number) {
    this.sessionId = sessionId;
    this.lines = [appId, null];
    this.place = place;
  }
}
