/** A thread and the sessions that are on it, with what of its time they are counted with. */
import type { Clock } from '../../lib/clock.ts';
import { transcodersPerWorkerMax } from '../../model/limits.ts';
import type { Transcoder } from '../../core/ports/transcoders.ts';
import type { FrameCost } from './frame-cost.ts';
import { SessionLoad } from './session-load.ts';
import { TranscoderSession } from './transcoder-session.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

export class TranscoderPoolThread {
  readonly thread: TranscoderThread;
  readonly #clock: Clock;
  readonly #cost: FrameCost;
  readonly #loads = new Set<SessionLoad>();
  /** Closed ones whose natives are not freed yet among them. */
  #sessions = 0;

  constructor(thread: TranscoderThread, clock: Clock, cost: FrameCost) {
    this.thread = thread;
    this.#clock = clock;
    this.#cost = cost;
  }

  /** Measured and reserved share of the thread's time. */
  get load(): number {
    let load = 0;
    for (const session of this.#loads) load += session.share;
    return load;
  }

  /** One session that a thread alone can do is always taken, whatever `loadMax` is. */
  hasRoomFor(share: number, loadMax: number): boolean {
    if (!this.thread.isOpen || this.#sessions >= transcodersPerWorkerMax) return false;
    return this.load + share <= (this.#loads.size === 0 ? 1 : loadMax);
  }

  /** `session`: a number that no other one has had. */
  open(session: number, share: number): Transcoder {
    const load = new SessionLoad(this.#clock, share);
    this.#loads.add(load);
    this.#sessions += 1;
    const onClose = (): void => this.#close(session, load);
    return new TranscoderSession(session, { thread: this.thread, load, cost: this.#cost, onClose });
  }

  #close(session: number, load: SessionLoad): void {
    this.#loads.delete(load);
    void this.thread.closeSession(session).then(() => {
      this.#sessions -= 1;
    });
  }
}
