/**
 * Places calls at the media processes of the server. The legs of a call meet in one of them: the one where a leg of it
 * stands; before any has come, the one that its backend was told, which is the one with the most room when it was issued,
 * or that of the bridge that is asked to take it. A process that is gone has none of its calls: those are placed anew, and
 * no others. Source: calls-and-media.md, The media process.
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
}

export class MediaPlacement implements CallFollower {
  readonly #deps: MediaPlacementDeps;
  /** Where the legs of a call that is only issued are to come. Bounded by the live calls. */
  readonly #places = new Map<SessionId, number>();
  /** How many of them each process is to have: its own figures know nothing of them. */
  readonly #expected = new Map<number, number>();
  /** How many have come to it since it told its load. */
  readonly #come = new Map<number, number>();

  constructor(deps: MediaPlacementDeps) {
    this.#deps = deps;
  }

  /**
   * The number of the process where the call is, or is to be from now on. `here`: where a leg of it has come; it stays
   * there if nothing speaks against it. Null: there is no media process.
   */
  placeOf(sessionId: SessionId, here: number | null = null): number | null {
    const up = this.#deps.capacity();
    const held = this.#deps.directory.processOf(sessionId);
    if (held !== null && up.some(({ process }) => process === held)) return held;
    const told = up.find(({ process }) => process === this.#places.get(sessionId));
    if (told !== undefined && roomOf(told) > 0) return told.process;
    const best = this.#best(up, told?.process ?? here);
    if (best !== null) this.place(sessionId, best);
    return best;
  }

  /** The processes that take legs: the call's own first, then by their room. */
  order(sessionId: SessionId): readonly number[] {
    const up = this.#deps.capacity();
    if (up.length < 2) return up.map(({ process }) => process);
    const held = this.#deps.directory.processOf(sessionId);
    const timeLeft = this.#timeLeftAmong(up);
    const rank = (each: MediaCapacity): number => (each.process === held ? Infinity : timeLeft(each));
    return up.toSorted((one, other) => byRank(rank(other), rank(one))).map(({ process }) => process);
  }

  /** The call is to be there, while it is only issued. */
  place(sessionId: SessionId, process: number): void {
    if (this.#deps.directory.find(sessionId)?.state !== 'issued') return;
    this.#forget(sessionId);
    this.#places.set(sessionId, process);
    this.#expected.set(process, this.#expectedAt(process) + 1);
  }

  /** What has come to the process is in its figures by now. */
  loadTold(process: number): void {
    this.#come.delete(process);
  }

  /** It has a leg from now on, which says where it is; or it has ended. */
  changed(_session: CallSession, { sessionId, from, state }: CallChange): void {
    this.#forget(sessionId);
    const process = this.#deps.directory.processOf(sessionId);
    if (from === 'issued' && state !== 'ended' && process !== null)
      this.#come.set(process, (this.#come.get(process) ?? 0) + 1);
  }

  #forget(sessionId: SessionId): void {
    const process = this.#places.get(sessionId);
    if (process === undefined) return;
    this.#places.delete(sessionId);
    this.#expected.set(process, this.#expectedAt(process) - 1);
  }

  /** Of those with equal time left the preferred one, then the one with the fewest calls. */
  #best(up: readonly MediaCapacity[], preferred: number | null): number | null {
    const liked = up.find(({ process }) => process === preferred);
    if (liked !== undefined && roomOf(liked) > this.#unknownAt(liked.process)) return liked.process;
    const timeLeft = this.#timeLeftAmong(up);
    const [best] = up.toSorted(
      (one, other) =>
        byRank(timeLeft(other), timeLeft(one)) ||
        Number(other.process === preferred) - Number(one.process === preferred) ||
        this.#calls(one) - this.#calls(other),
    );
    return best?.process ?? null;
  }

  /**
   * The time that workers have left when what their figures know nothing of has come. Time is compared, and not room: each
   * process tells its room in calls like its own.
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

/** Of a worker's time, for a call, where none has room by which it could be told. */
const shareUnknown = 0.05;
/** Sums of shares differ by less where they are the same. */
const shareError = 1e-9;

/** Also of infinite ones. */
function byRank(one: number, other: number): number {
  return one === other || Math.abs(one - other) < shareError ? 0 : one - other;
}
