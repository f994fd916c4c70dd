/** Readiness of this node for traffic, with the reasons why it is not ready. Source: running.md, Probes. */

export type UnreadyReason = 'starting' | 'draining' | 'store' | 'store_damaged' | 'store_panic' | 'cluster';

/** Readiness of other processes of this server, or of its fronts. */
export interface Missing {
  readonly isReady: boolean;
  readonly reasons: readonly string[];
}

export class Readiness {
  /** A process is not ready until `starting` is cleared. */
  readonly #reasons = new Set<UnreadyReason>(['starting']);
  readonly #others: (() => Missing)[] = [];
  #hasRegistry: () => boolean = () => true;

  /** True while the server drains: no new work begins. */
  readonly isDraining = (): boolean => this.#reasons.has('draining');

  get isReady(): boolean {
    return this.#reasons.size === 0 && this.#others.every((missing) => missing().isReady);
  }

  /** In order of appearance. A ready server may have reasons too: it lacks something, but serves. */
  get reasons(): readonly string[] {
    const lacking = this.#hasRegistry() ? [] : ['registry_empty'];
    return [...this.#reasons, ...lacking, ...this.#others.flatMap((missing) => missing().reasons)];
  }

  /** Includes the readiness of other processes, read at every probe. */
  include(others: () => Missing): void {
    this.#others.push(others);
  }

  /** `hasRegistry` is called at every probe and must not throw. With an empty registry the server is ready, with a reason. */
  watchRegistry(hasRegistry: () => boolean): void {
    this.#hasRegistry = hasRegistry;
  }

  set(reason: UnreadyReason): void {
    this.#reasons.add(reason);
  }

  clear(reason: UnreadyReason): void {
    this.#reasons.delete(reason);
  }
}
