/**
 * The open sessions of an edge, and those that ended while no core could be told: what a core that comes back is brought.
 */
import { edgeBringSessionsMax, edgeHeartbeatsMax, type SleepEndReason } from '../model/sleep.ts';
import type { BroughtSession, EdgeMessage } from '../protocol/edge-link/edge-message.ts';
import type { EdgeSession } from './edge-session.ts';

export class HeldSessions {
  readonly #open = new Map<number, EdgeSession>();
  /** As many as were open at the end of the link. */
  readonly #ended: BroughtSession[] = [];
  /** Sessions that the core is still to be brought. */
  #left: Iterator<EdgeSession> = this.#open.values();

  get size(): number {
    return this.#open.size;
  }

  has(number: number): boolean {
    return this.#open.has(number);
  }

  find(number: number): EdgeSession | null {
    return this.#open.get(number) ?? null;
  }

  add(session: EdgeSession): void {
    this.#open.set(session.number, session);
  }

  /** False: it was not open. */
  delete(number: number): boolean {
    return this.#open.delete(number);
  }

  /** True: the core is to be told; it has to be brought the others. */
  ended(session: EdgeSession, reason: SleepEndReason, lastHeartbeatAt: number): boolean {
    if (!this.#open.delete(session.number)) return false;
    if (!session.isKnown) this.#ended.push(session.describe(lastHeartbeatAt, reason));
    return session.isKnown;
  }

  /** The core that knew them cannot be reached. */
  forget(): void {
    for (const session of this.#open.values()) session.forget();
    this.#left = this.#open.values();
  }

  /** The next of those that the core does not know; empty: it has been brought all. */
  nextBrought(): readonly BroughtSession[] {
    const brought: BroughtSession[] = [];
    while (brought.length < edgeBringSessionsMax) {
      const next = this.#left.next();
      if (next.done === true) break;
      const { value: session } = next;
      session.reportedAt = session.connection.lastHeartbeatAt;
      brought.push(session.describe(session.reportedAt, null));
    }
    return brought.length > 0 ? brought : this.#ended.splice(0, edgeBringSessionsMax);
  }

  /** Heartbeats that the core does not know of, by their seconds. Looks through all sessions, so that a heartbeat itself costs nothing more. */
  *newHeartbeats(): Generator<Extract<EdgeMessage, { readonly kind: 'heartbeats' }>, void, undefined> {
    const bySecond = new Map<number, number[]>();
    for (const session of this.#open.values()) {
      const at = session.connection.lastHeartbeatAt;
      if (at === session.reportedAt) continue;
      session.reportedAt = at;
      const numbers = bySecond.get(at);
      if (numbers === undefined) bySecond.set(at, [session.number]);
      else numbers.push(session.number);
    }
    for (const [at, numbers] of bySecond)
      for (let from = 0; from < numbers.length; from += edgeHeartbeatsMax)
        yield {
          kind: 'heartbeats',
          at,
          numbers: Uint32Array.from(numbers.slice(from, from + edgeHeartbeatsMax)),
        };
  }
}
