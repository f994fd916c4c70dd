/** Whether this node should be sent traffic, and if not, why. Source: running.md, Probes. */

export type UnreadyReason = 'starting' | 'draining' | 'store' | 'cluster';

export class Readiness {
  /** A process is not ready until it says that it has started. */
  readonly #reasons = new Set<UnreadyReason>(['starting']);

  /** In the order they came up; none: ready. */
  get reasons(): readonly UnreadyReason[] {
    return [...this.#reasons];
  }

  set(reason: UnreadyReason): void {
    this.#reasons.add(reason);
  }

  clear(reason: UnreadyReason): void {
    this.#reasons.delete(reason);
  }

  has(reason: UnreadyReason): boolean {
    return this.#reasons.has(reason);
  }
}
