/** Open sessions of an edge, and sessions that ended without a link: the edge sends both to the next core. */
import { edgeBringSessionsMax, edgeHeartbeatsMax, type SleepEndReason } from '../model/sleep.ts';
import type { BroughtSession, EdgeMessage } from '../protocol/edge-link/edge-message.ts';
import type { EdgeSession } from './edge-session.ts';

export class HeldSessions {
  readonly #open = new Map<number, EdgeSession>();
  /** Bounded by the number of sessions open when the link ended. */
  readonly #ended: BroughtSession[] = [];
  /** Sessions not yet sent to the new core. */
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

  /** True: the core knows the session and must be notified. False: it is sent with the other sessions. */
  ended(session: EdgeSession, reason: SleepEndReason, lastHeartbeatAt: number): boolean {
    if (!this.#open.delete(session.number)) return false;
    if (!session.isKnown) this.#ended.push(session.describe(lastHeartbeatAt, reason));
    return session.isKnown;
  }

  /** Marks all as unknown to the core: the link has ended. */
  forget(): void {
    for (const session of this.#open.values()) session.forget();
    this.#left = this.#open.values();
  }

  /** Next batch of sessions that the core does not know; empty: all are sent. */
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

  /** Heartbeats not yet reported, grouped by second. Scans all sessions, so that a heartbeat itself costs nothing more. */
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
