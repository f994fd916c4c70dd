/** Requests of backends and operators to processes: answered late or never, with a timeout. */
import type { Life, Place, Site } from './site.ts';

const requestMsMax = 10_000;

export class Requests {
  readonly #site: Site;

  constructor(site: Site) {
    this.#site = site;
  }

  /**
   * Sends a request to a process, which may answer late or never. `act` resolves to a function that records the response; it
   * is called if the caller still waits. Resolves on the response or the timeout.
   */
  ask(place: Place, what: string, act: (life: Life) => Promise<() => string>): Promise<void> {
    const { timeline, evidence } = this.#site;
    const { life } = place;
    if (life === null) return Promise.resolve();
    return new Promise((resolve) => {
      let hasGivenUp = false;
      const giveUp = timeline.after(requestMsMax, null, () => {
        hasGivenUp = true;
        evidence.record(`${life.name} does not answer: ${what}`);
        resolve();
      });
      timeline.after(this.#site.delayMs(1, 10), life.host, () => {
        act(life).then(
          (answer) => {
            if (life.host.isDead || hasGivenUp) return;
            giveUp();
            evidence.record(`${life.name}: ${what}: ${answer()}`);
            resolve();
          },
          (error: unknown) => {
            evidence.violated(9, `${life.name} fails to ${what}: ${String((error as Error).stack)}`);
            resolve();
          },
        );
      });
    });
  }
}
