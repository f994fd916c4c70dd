/** Upgrades a site, at its supervisor: the core, and the edges on request. Source: scale-out.md, Edges. */
import type { Log } from '../../lib/log.ts';
import { messageOf } from '../../lib/result.ts';
import type { CoreReport, UpgradeState } from './core-task.ts';
import type { CoreUpgrade } from './core-upgrade.ts';

export interface SiteUpgradeDeps {
  readonly log: Log;
  upgradeCore(): CoreUpgrade;
  /** Replaces the edges one after another. Rejects with a sentence at the first failure; the remaining edges stay. */
  replaceEdges(): Promise<void>;
  /** The state has changed. */
  changed(): void;
}

export class SiteUpgrade {
  readonly #deps: SiteUpgradeDeps;
  #core: CoreUpgrade | null = null;
  #running: Promise<void> | null = null;
  #upgradingCore: Promise<void> = Promise.resolve();
  #failure: string | null = null;

  constructor(deps: SiteUpgradeDeps) {
    this.#deps = deps;
  }

  get state(): UpgradeState {
    return { isUnderWay: this.#running !== null, failure: this.#failure };
  }

  /** A report of a core. Requests during an upgrade are ignored. */
  report(report: CoreReport): void {
    if (report.kind !== 'upgrade') this.#core?.report(report);
    else if (this.#running === null) this.#begin(report.edges);
  }

  /** For a stop: gives up an upgrade. Resolves when one core is left, or none. */
  async giveUp(): Promise<void> {
    this.#core?.giveUp();
    await this.#upgradingCore.catch(() => undefined);
  }

  #begin(edges: boolean): void {
    this.#failure = null;
    this.#running = this.#run(edges).finally(() => {
      this.#running = null;
      this.#deps.changed();
    });
    this.#deps.changed();
  }

  async #run(edges: boolean): Promise<void> {
    try {
      this.#core = this.#deps.upgradeCore();
      this.#upgradingCore = this.#core.run().finally(() => (this.#core = null));
      await this.#upgradingCore;
      if (edges) await this.#deps.replaceEdges();
    } catch (error) {
      this.#failure = messageOf(error);
      this.#deps.log.error({ reason: this.#failure }, 'not upgraded');
    }
  }
}
