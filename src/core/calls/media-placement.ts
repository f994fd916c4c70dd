/**
 * Places calls at media processes: all legs of a call must be in one process. The backend receives the process at issuance:
 * preferably one with an idle bridge for the call, else one with bridges, and among these the one with the most room. Until its
 * first leg connects, a bridge of another process may move the call there; from then on it stays, even if that process ends.
 * Source: calls-and-media.md, The media process.
 */
import type { CallChange, CallSession } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { freeTimeOf, roomOf, type MediaCapacity } from '../../model/media/media-capacity.ts';
import type { CallDirectory } from './call-directory.ts';
import type { CallFollower } from './call-followers.ts';

export interface MediaPlacementDeps {
  readonly directory: Pick<CallDirectory, 'processOf' | 'find'>;
  /** Capacities of the media processes that accept legs, as of a second ago. */
  capacity(): readonly MediaCapacity[];
  hasBridgeAt(process: number): boolean;
}

export class MediaPlacement implements CallFollower {
  readonly #deps: MediaPlacementDeps;
  /** The process where the first leg of an issued call is expected. Bounded by the live calls. */
  readonly #places = new Map<SessionId, number>();
  /** Number of calls expected at each process, which its own figures do not include. */
  readonly #expected = new Map<number, number>();
  /** Number of calls that connected since the process last reported its figures. */
  readonly #connected = new Map<number, number>();

  constructor(deps: MediaPlacementDeps) {
    this.#deps = deps;
  }

  /** Number of the process where the call is or is expected; null: not placed. */
  find(sessionId: SessionId): number | null {
    return this.#deps.directory.processOf(sessionId) ?? this.#places.get(sessionId) ?? null;
  }

  /** Like `find`, but places a call that has no place, or whose process ended before its first leg connected. Null: no process. */
  placeOf(sessionId: SessionId): number | null {
    const place = this.find(sessionId);
    if (place !== null && (this.#deps.directory.processOf(sessionId) !== null || this.#isUp(place)))
      return place;
    const best = this.#best();
    if (best !== null) this.#place(sessionId, best);
    return best;
  }

  /** The process for a leg that connected at process `here`. */
  placeOfLeg(sessionId: SessionId, here: number): number {
    const current = this.#deps.directory.processOf(sessionId);
    if (current !== null) return current;
    const expected = this.#places.get(sessionId) ?? here;
    return this.#isUp(expected) ? expected : here;
  }

  mayBeAt(sessionId: SessionId, process: number): boolean {
    const current = this.#deps.directory.processOf(sessionId);
    return current === null || current === process;
  }

  /** Processes whose bridges may serve the call: the expected one first, then by room. */
  order(sessionId: SessionId): readonly number[] {
    const current = this.#deps.directory.processOf(sessionId);
    if (current !== null) return [current];
    const up = this.#deps.capacity();
    if (up.length < 2) return up.map(({ process }) => process);
    const expected = this.#places.get(sessionId);
    const timeLeft = this.#timeLeftAmong(up);
    const rank = (each: MediaCapacity): number => (each.process === expected ? Infinity : timeLeft(each));
    return up.toSorted((one, other) => byRank(rank(other), rank(one))).map(({ process }) => process);
  }

  expect(sessionId: SessionId, process: number): void {
    if (this.find(sessionId) === null) this.#place(sessionId, process);
  }

  /** The process has reported its figures, which now include the connected calls. */
  loadReported(process: number): void {
    this.#connected.delete(process);
  }

  /** The first leg of the call has connected, or the call has ended. */
  changed(_session: CallSession, { sessionId, from, state }: CallChange): void {
    this.#forget(sessionId);
    const process = this.#deps.directory.processOf(sessionId);
    if (from === 'issued' && state !== 'ended' && process !== null)
      this.#connected.set(process, (this.#connected.get(process) ?? 0) + 1);
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

  /**
   * The process with the most worker time left, then with the fewest calls, among those with bridges, or among all if none has a
   * bridge.
   */
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
   * Worker time left once the calls missing in the figures have connected. Compares time rather than room, because each process
   * measures room in calls like its own.
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
    return this.#expectedAt(process) + (this.#connected.get(process) ?? 0);
  }
}

/** Share of a worker's time per call while no process has room to derive it from. */
const shareUnknown = 0.05;
/** Tolerance for rounding when sums of shares are compared. */
const shareError = 1e-9;

function byRank(one: number, other: number): number {
  return one === other || Math.abs(one - other) < shareError ? 0 : one - other;
}
