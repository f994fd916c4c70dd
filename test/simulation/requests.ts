/** Requests of backends and operators to processes: answered late, or never, and given up in time. */
import type { Life, Place, Site } from './site.ts';

/** Milliseconds after which who asked gives a request up. */
const requestMsMax = 10_000;

export class Requests {
  readonly #site: Site;

  constructor(site: Site) {
    this.#site = site;
  }

  /**
   * Sends a request to a process; it may be answered late, or never. What `act` resolves to is called if who asked
   * still waits, and says what the answer was. Settles when who asked goes on.
   */
  ask(place: Place, what: string, act: (life: Life) => Promise<() => string>): Promise<void> {
    const { timeline, evidence } = this.#site;
    const { life } = place;
    if (life === null) return Promise.resolve();
    return new Promise((resolve) => {
      let hasGivenUp = false;
      const giveUp = timeline.after(requestMsMax, null, () => {
        hasGivenUp = true;
        evidence.note(`${life.name} does not answer: ${what}`);
        resolve();
      });
      timeline.after(this.#site.delayMs(1, 10), life.host, () => {
        act(life).then(
          (answer) => {
            if (life.host.isDead || hasGivenUp) return;
            giveUp();
            evidence.note(`${life.name}: ${what}: ${answer()}`);
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
