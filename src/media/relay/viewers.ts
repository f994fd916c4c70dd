/** The viewers of a session and their receivers: one picture stream, or live both and the camera. Source: calls-and-media.md, Legs. */
import type { Receiver } from './receiver.ts';
import type { JoinedLeg } from './send-queue.ts';

export interface ViewersDeps {
  changed(): void;
  wantKeyFrame(receiver: Receiver): void;
}

export class Viewers {
  readonly #deps: ViewersDeps;
  /** A viewer's receivers of the downlink, with its receiver of the uplink. */
  readonly #viewers = new Map<readonly Receiver[], Receiver | null>();

  constructor(deps: ViewersDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#viewers.size;
  }

  get receivers(): readonly Receiver[] {
    return Array.from(this.#viewers.keys()).flat();
  }

  get cameras(): readonly Receiver[] {
    return Array.from(this.#viewers.values()).filter((camera) => camera !== null);
  }

  /** A viewer accepts nothing but JPEGs. */
  get needJpegs(): boolean {
    return this.receivers.some(({ kind }) => kind === 'pictures' || kind === 'source');
  }

  join(viewer: readonly Receiver[], camera: Receiver | null = null): JoinedLeg {
    const begin = (): void => viewer.forEach((receiver) => this.#deps.wantKeyFrame(receiver));
    this.#viewers.set(viewer, camera);
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
        camera?.sendQueue.close();
        this.#deps.changed();
      },
    };
  }
}
