/** A process that makes pictures of a clip, on the servers' core. */
import { Child, serverCore } from './child.ts';
import type { Desk, Protocol } from './ipc.ts';
import type { Clip } from './natural-clips.ts';
import { pictureDesk, type LaneProtocol } from './picture-protocol.ts';

/** It holds the frames of one clip at a time. */
export class ClipProcess<Asked extends Protocol & { load: LaneProtocol['load'] }> {
  readonly child: Child;
  readonly #desk: Desk<Asked>;
  #held: Clip | null = null;

  constructor(peer: 'reveille-lane' | 'sharp') {
    const entry = new URL(`../peers/${peer}-process.ts`, import.meta.url);
    this.child = new Child({ entry, core: serverCore });
    this.child.process.stdout?.resume();
    this.#desk = this.child.desk(pictureDesk);
  }

  async holding(clip: Clip): Promise<Desk<Asked>> {
    if (this.#held !== clip) await this.#desk.ask('load', clip.file);
    this.#held = clip;
    return this.#desk;
  }
}
