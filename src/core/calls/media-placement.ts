/**
 * Places calls at the media processes of the server, since all legs of a call meet in one process. The backend is told that process
 * when the call is issued: one with an idle bridge for the call, else one with bridges, and among such processes the one with the most
 * room. Until its first leg comes, a bridge of another process may take the call there; from then on it stays, also while
 * that process is gone. Source: calls-and-media.md, The media process.
 */
import type { CallChange, CallSession } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { freeTimeOf, roomOf, type MediaCapacity } from '../../model/media/media-capacity.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';

export interface MediaPlacementDeps {
  readonly directory: Pick<CallDirectory, 'processOf' | 'find'>;
  /** The media processes that take legs, each as of a second ago. */
  capacity(): readonly MediaCapacity[];
  /** A bridge stands there, idle or with a call. */
  hasBridgeAt(process: number): boolean;
}

export class MediaPlacement implements CallFollower {
  readonly #deps: MediaPlacementDeps;
  /** The process at which the first leg of a call is expected, while it is only issued. Bounded by the live calls. */
  readonly #places = new Map<SessionId, number>();
  /** Calls that each process is to have: its own figures do not count them. */
  readonly #expected = new Map<number, number>();
  /** Calls that have come to it since its figures were taken. */
  readonly #come = new Map<number, number>();

  constructor(deps: MediaPlacementDeps) {
    this.#deps = deps;
  }

  /** The number of the process at which the call is, or is expected; null: it has no place yet. */
  find(sessionId: SessionId): number | null {
    return this.#deps.directory.processOf(sessionId) ?? this.#places.get(sessionId) ?? null;
  }

  /**
   * The same, after placing a call that has no place, or whose process is gone before its first leg has come. Null: there is no
   * process.
   */
  placeOf(sessionId: SessionId): number | null {
    const place = this.find(sessionId);
    if (place !== null && (this.#deps.directory.processOf(sessionId) !== null || this.#isUp(place)))
      return place;
    const best = this.#best();
    if (best !== null) this.#place(sessionId, best);
    return best;
  }

  /** The process that a leg belongs to which has come to `here`. */
  placeOfLeg(sessionId: SessionId, here: number): number {
    const held = this.#deps.directory.processOf(sessionId);
    if (held !== null) return held;
    const told = this.#places.get(sessionId) ?? here;
    return this.#isUp(told) ? told : here;
  }

  /** A bridge of the process may have the call. */
  mayBeAt(sessionId: SessionId, process: number): boolean {
    const held = this.#deps.directory.processOf(sessionId);
    return held === null || held === process;
  }

  /** The processes whose bridges may have the call: the one where it is expected first, then by their room. */
  order(sessionId: SessionId): readonly number[] {
    const held = this.#deps.directory.processOf(sessionId);
    if (held !== null) return [held];
    const up = this.#deps.capacity();
    if (up.length < 2) return up.map(({ process }) => process);
    const told = this.#places.get(sessionId);
    const timeLeft = this.#timeLeftAmong(up);
    const rank = (each: MediaCapacity): number => (each.process === told ? Infinity : timeLeft(each));
    return up.toSorted((one, other) => byRank(rank(other), rank(one))).map(({ process }) => process);
  }

  /** The call is expected there from now on, unless it has a place already. */
  expect(sessionId: SessionId, process: number): void {
    if (this.find(sessionId) === null) this.#place(sessionId, process);
  }

  /** The figures of the process count what has come to it by now. */
  loadTold(process: number): void {
    this.#come.delete(process);
  }

  /** The first leg of the call has come, or the call has ended. */
  changed(_session: CallSession, { sessionId, from, state }: CallChange): void {
    this.#forget(sessionId);
    const process = this.#deps.directory.processOf(sessionId);
    if (from === 'issued' && state !== 'ended' && process !== null)
      this.#come.set(process, (this.#come.get(process) ?? 0) + 1);
  }

  #place(sessionId: SessionId, process: number): void {
    if (this.#deps.directory.find(sessionId)?.state !== 'issued') return;
    this.#forget(sessionId);
    this.#places.set(sessionId, process);
    this.#expected.set(process, this.#expectedAt(process) + 1);
  }

  #forget(sessionId: SessionId): void {
    const process = this.#places.get(sessionId);
    if (process === undefined) return;
    this.#places.delete(sessionId);
    this.#expected.set(process, this.#expectedAt(process) - 1);
  }

  #isUp(place: number): boolean {
    return this.#deps.capacity().some(({ process }) => process === place);
  }

  /** The process with the most time left, then with the fewest calls, among those with bridges, or among all where none has any. */
  #best(): number | null {
    const up = this.#deps.capacity();
    const withBridges = up.length < 2 ? up : up.filter(({ process }) => this.#deps.hasBridgeAt(process));
    const timeLeft = this.#timeLeftAmong(up);
    const [best] = (withBridges.length === 0 ? up : withBridges).toSorted(
      (one, other) => byRank(timeLeft(other), timeLeft(one)) || this.#calls(one) - this.#calls(other),
    );
    return best?.process ?? null;
  }

  /**
   * The time that workers have left when the calls that their figures do not count have come. Time is compared, and not room:
   * each process measures its room in calls like its own.
   */
  #timeLeftAmong(up: readonly MediaCapacity[]): (capacity: MediaCapacity) => number {
    const freeTime = up.reduce((sum, each) => sum + freeTimeOf(each), 0);
    const room = up.reduce((sum, each) => sum + roomOf(each), 0);
    const ofOneCall = room === 0 ? shareUnknown : freeTime / room;
    return (each) => freeTimeOf(each) - this.#unknownAt(each.process) * ofOneCall;
  }

  #calls({ process, sessions }: MediaCapacity): number {
    return sessions + this.#unknownAt(process);
  }

  #expectedAt(process: number): number {
    return this.#expected.get(process) ?? 0;
  }

  #unknownAt(process: number): number {
    return this.#expectedAt(process) + (this.#come.get(process) ?? 0);
  }
}

/** Share of a worker's time for one call, while no process has room to measure it by. */
const shareUnknown = 0.05;
/** Sums of shares differ by less where they are the same. */
const shareError = 1e-9;

/** Compares infinite ranks, too. */
function byRank(one: number, other: number): number {
  return one === other || Math.abs(one - other) < shareError ? 0 : one - other;
}
