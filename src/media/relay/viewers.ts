/** The viewers of a session, and what each of them receives: one picture, or live both. Source: calls-and-media.md, Legs. */
import type { Receiver } from './receiver.ts';
import type { JoinedLeg } from './send-queue.ts';

export interface ViewersDeps {
  /** Somebody has come or gone. */
  changed(): void;
  /** One of them cannot go on without a key frame. */
  wantKeyFrame(receiver: Receiver): void;
}

export class Viewers {
  readonly #deps: ViewersDeps;
  readonly #viewers = new Set<readonly Receiver[]>();

  constructor(deps: ViewersDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#viewers.size;
  }

  get receivers(): readonly Receiver[] {
    return Array.from(this.#viewers).flat();
  }

  /** Somebody takes nothing else. */
  get takeJpegs(): boolean {
    return this.receivers.some(({ kind }) => kind === 'pictures' || kind === 'source');
  }

  join(viewer: readonly Receiver[]): JoinedLeg {
    const begin = (): void => viewer.forEach((receiver) => this.#deps.wantKeyFrame(receiver));
    this.#viewers.add(viewer);
    this.#deps.changed();
    begin();
    return {
      frame: () => undefined,
      wants: () => undefined,
      wantKeyFrame: () => {
        if (this.#viewers.has(viewer)) begin();
      },
      wantMaxFps: () => undefined,
      leave: () => {
        if (!this.#viewers.delete(viewer)) return;
        for (const { sendQueue } of viewer) sendQueue.close();
        this.#deps.changed();
      },
    };
  }
}
