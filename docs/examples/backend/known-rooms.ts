/**
 * Which rooms were pushed already. The platform repeats a push that it got no answer to in time, and may do so while
 * the first is still being worked on: whoever comes second gets the first one's answer, and nothing happens twice.
 */

export interface KnownRoomsOptions {
  /** Rooms remembered at once; a new one beyond it is refused, for forgetting one would let it be called twice. */
  readonly roomsMax: number;
  /** How long a room is remembered: longer than twice the window within which a signed push may be sent again. */
  readonly rememberMs: number;
  /** Wall milliseconds. */
  readonly now: () => number;
}

interface KnownRoom<Answer> {
  readonly answer: Promise<Answer>;
  readonly untilMs: number;
}

export class KnownRooms<Answer> {
  readonly #options: KnownRoomsOptions;
  /** In the order of their coming, which is that of their end. */
  readonly #rooms = new Map<string, KnownRoom<Answer>>();

  constructor(options: KnownRoomsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#rooms.size;
  }

  /** What the room's first push is answered; `decide` is asked for a room that is new. Null: there is no room for one. */
  answer(roomId: string, decide: () => Promise<Answer>): { answer: Promise<Answer>; isNew: boolean } | null {
    const { roomsMax, rememberMs, now } = this.#options;
    this.#forget(now());
    const known = this.#rooms.get(roomId);
    if (known !== undefined) return { answer: known.answer, isNew: false };
    if (this.#rooms.size >= roomsMax) return null;
    const answer = decide();
    this.#rooms.set(roomId, { answer, untilMs: now() + rememberMs });
    return { answer, isNew: true };
  }

  #forget(nowMs: number): void {
    for (const [roomId, { untilMs }] of this.#rooms) {
      if (untilMs > nowMs) return;
      this.#rooms.delete(roomId);
    }
  }
}
