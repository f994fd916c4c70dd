/** A process that makes pictures of a clip, on the servers' core. */
import { Child, serverCore } from './child.ts';
import type { LocalLegService, Protocol } from './ipc.ts';
import type { Clip } from './natural-clips.ts';
import { pictureService, type PeerProtocol } from './picture-protocol.ts';

/** It holds the frames of one clip at a time. */
export class ClipProcess<Asked extends Protocol & { load: PeerProtocol['load'] }> {
  readonly child: Child;
  readonly #service: LocalLegService<Asked>;
  #held: Clip | null = null;

  constructor(peer: 'reveille-transcoder' | 'sharp') {
    const entry = new URL(`../peers/${peer}-process.ts`, import.meta.url);
    this.child = new Child({ entry, core: serverCore });
    this.child.process.stdout?.resume();
    this.#service = this.child.service(pictureService);
  }

  async holding(clip: Clip): Promise<LocalLegService<Asked>> {
    if (this.#held !== clip) await this.#service.ask('load', clip.file);
    this.#held = clip;
    return this.#service;
  }
}
