/** An in-memory pair of streams, like connected sockets: each reads what the other writes, and closing one closes both. */
import { Duplex } from 'node:stream';

export interface DuplexPairOptions {
  /** Number of the write, counted over both ends from 1, that breaks the pair instead of arriving; null: none. */
  readonly breaksAt?: number | null;
  readonly pieceBytesMax?: number;
}

class PairEnd extends Duplex {
  peer: PairEnd | null = null;
  readonly #pair: DuplexPair;
  #proceed: (() => void) | null = null;

  constructor(pair: DuplexPair) {
    super({ allowHalfOpen: false });
    this.#pair = pair;
  }

  override _read(): void {
    const proceed = this.#proceed;
    this.#proceed = null;
    proceed?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.#pair.countWrite()) done(new Error('the pair broke'));
    else this.peer?.deliver(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.peer?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { peer } = this;
    this.peer = null;
    peer?.push(null);
    done(error);
  }

  deliver(chunk: Buffer, done: () => void): void {
    const { pieceBytesMax } = this.#pair;
    let hasRoom = true;
    for (let at = 0; at < chunk.length; at += pieceBytesMax)
      hasRoom = this.push(chunk.subarray(at, at + pieceBytesMax));
    if (hasRoom) done();
    else this.#proceed = done;
  }
}

export class DuplexPair {
  readonly here: Duplex;
  readonly there: Duplex;
  readonly pieceBytesMax: number;
  readonly #breaksAt: number | null;
  writes = 0;

  constructor({ breaksAt = null, pieceBytesMax = Infinity }: DuplexPairOptions = {}) {
    this.#breaksAt = breaksAt;
    this.pieceBytesMax = pieceBytesMax;
    const [here, there] = [new PairEnd(this), new PairEnd(this)];
    here.peer = there;
    there.peer = here;
    this.here = here;
    this.there = there;
  }

  /** Counts a write. True: this write breaks the pair. */
  countWrite(): boolean {
    this.writes += 1;
    return this.writes === this.#breaksAt;
  }
}
