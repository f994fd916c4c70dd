/**
 * The share of a worker that one session is counted with. At first what was reserved for it; once it has sent frames all
 * through a window, what it was measured to take. While it pauses it keeps what it last had, for it may go on any moment;
 * what it takes beyond that counts at once.
 */
import type { Clock } from '../../lib/clock.ts';
import { BusyWindow } from './busy-window.ts';

export class SessionLoad {
  readonly #window: BusyWindow;
  #kept: number;

  constructor(clock: Clock, reserved: number) {
    this.#window = new BusyWindow(clock);
    this.#kept = reserved;
  }

  /** Its worker has spent so long on a frame of it. */
  add(workMs: number): void {
    this.#window.add(workMs);
    if (this.#window.isSteady()) this.#kept = this.#window.share();
  }

  get share(): number {
    return Math.max(this.#kept, this.#window.share());
  }
}
