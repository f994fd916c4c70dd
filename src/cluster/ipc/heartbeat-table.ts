/**
 * Heartbeats of a member's open sessions as a hash table of plain numbers, so that another process finds one without decoding
 * any: for each session a mark and Unix seconds, at the first free place from where its id says. Source: cluster.md, Record.
 */
import type { SessionId } from '../../model/ids.ts';

const wordsAPlace = 2;
/** Fuller than this, one would be looked for too long. */
const fullness = 0.7;
/** Of all places: with fewer to go it would soon be full again. */
const spare = 0.125;
const placesMin = 64;
/** A session's id is random at its end. */
const charactersTold = 16;

export class HeartbeatTable {
  /** A power of two of places; one without seconds is free. */
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #mask: number;
  #free: number;

  /** `words` of such a table, or zeros for an empty one. */
  constructor(words = new Uint32Array(placesMin * wordsAPlace)) {
    const places = words.length / wordsAPlace;
    this.words = words;
    this.#mask = places - 1;
    this.#free = Math.floor(places * fullness);
  }

  /** Made anew it should be larger. */
  get isCrowded(): boolean {
    return this.#free < (this.words.length / wordsAPlace) * spare;
  }

  /** An empty one of twice the room. */
  larger(): HeartbeatTable {
    return new HeartbeatTable(new Uint32Array(this.words.length * 2));
  }

  clear(): void {
    this.words.fill(0);
    this.#free = Math.floor((this.words.length / wordsAPlace) * fullness);
  }

  /** `heartbeatAt`: Unix seconds, above 0. False: there is no room, and nothing was put. */
  put(session: SessionId, heartbeatAt: number): boolean {
    const mark = hash(session, markFactor);
    const place = this.#placeOf(session, mark);
    if (this.words[place + 1] === 0) {
      if (this.#free === 0) return false;
      this.#free -= 1;
    }
    this.words[place] = mark;
    this.words[place + 1] = heartbeatAt;
    return true;
  }

  /** Unix seconds; 0: none is known. Two of so few sessions have the same mark near each other as good as never. */
  find(session: SessionId): number {
    return this.words[this.#placeOf(session, hash(session, markFactor)) + 1] ?? 0;
  }

  /** Where it is, or is to be put. */
  #placeOf(session: SessionId, mark: number): number {
    let place = (hash(session, placeFactor) & this.#mask) * wordsAPlace;
    while (this.words[place + 1] !== 0 && this.words[place] !== mark)
      place = (place + wordsAPlace) & (this.words.length - 1);
    return place;
  }
}

const placeFactor = 0x01000193;
const markFactor = 0x9e3779b1;

/** 32 bits, unsigned. */
function hash(session: SessionId, factor: number): number {
  let sum = 0x811c9dc5;
  for (let at = Math.max(0, session.length - charactersTold); at < session.length; at++)
    sum = Math.imul(sum ^ session.charCodeAt(at), factor);
  return Math.imul(sum ^ (sum >>> 15), factor) >>> 0;
}
