/** Sessions of an edge whose link was cut. Each is found again by its number, or ends, a limited number in each turn of the loop. */
import { sleepEndsPerTurnMax } from '../model/sleep.ts';
import type { LinkedConnection } from './linked-connection.ts';

export class LostSessions {
  readonly #end: (connection: LinkedConnection) => void;
  readonly #ended: () => void;
  readonly #connections = new Map<number, LinkedConnection>();
  #isEnding = false;

  /** `end`: called for each session that ends; `ended`: when none is left. */
  constructor(end: (connection: LinkedConnection) => void, ended: () => void) {
    this.#end = end;
    this.#ended = ended;
  }

  get size(): number {
    return this.#connections.size;
  }

  add(connection: LinkedConnection): void {
    this.#connections.set(connection.number, connection);
  }

  find(number: number): LinkedConnection | null {
    return this.#connections.get(number) ?? null;
  }

  delete(connection: LinkedConnection): boolean {
    if (this.#connections.get(connection.number) !== connection) return false;
    return this.#connections.delete(connection.number);
  }

  /** Ends all sessions, unless `keep` is called meanwhile. */
  end(): void {
    this.#isEnding = true;
    this.#endSome();
  }

  keep(): void {
    this.#isEnding = false;
  }

  #endSome(): void {
    if (!this.#isEnding) return;
    let left = sleepEndsPerTurnMax;
    for (const [number, connection] of this.#connections) {
      if (left === 0) break;
      left -= 1;
      this.#connections.delete(number);
      this.#end(connection);
    }
    if (this.#connections.size > 0) {
      setImmediate(() => this.#endSome());
      return;
    }
    this.#isEnding = false;
    this.#ended();
  }
}
