/** The calls of the soak, all with pictures: each loses a leg that comes back, or ends and begins anew, now and then. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../../src/media/codec/engine.ts';
import type { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { chanceFrom } from '../../support/seeded-random.ts';
import { framesPerSecond, SoakCall } from '../media/call.ts';
import { makeFilms, type FilmLibraries } from '../media/films.ts';
import { kindOf } from '../media/kinds.ts';
import { issueCall } from '../media/call-server.ts';
import { Sounds } from '../media/sounds.ts';
import type { ErrorCounts } from './latencies.ts';

export interface CallLoadDeps {
  readonly engine: Engine;
  readonly client: ReveilleClient;
  /** The address of the media listener. */
  readonly url: string;
  readonly calls: number;
  readonly changeSeconds: number;
  readonly errors: ErrorCounts;
}

/** Pictures without sound: an H.264 film that is made JPEGs of, and one of JPEGs that are made smaller. */
const silentKinds = [5, 3];
const againMs = 2000;

export class CallLoad {
  readonly #deps: CallLoadDeps;
  readonly #films: FilmLibraries;
  readonly #sounds: Sounds;
  readonly #calls = new Map<number, SoakCall>();
  #rooms = 0;
  /** By call. */
  readonly #pictures: number[] = [];
  #taken = 0;
  #isOver = false;

  constructor(deps: CallLoadDeps) {
    this.#deps = deps;
    this.#films = makeFilms(deps.engine);
    this.#sounds = new Sounds(deps.engine);
  }

  /** Resolves when `stop` was called and all calls have ended. */
  async run(): Promise<void> {
    const frames = setInterval(() => this.#showAll(), 1000 / framesPerSecond);
    try {
      await Promise.all(Array.from({ length: this.#deps.calls }, (_, index) => this.#runOne(index)));
    } finally {
      clearInterval(frames);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Seen since they were last asked for. */
  takePictures(): number {
    const all = this.#pictures.reduce((sum, count) => sum + count, 0);
    const fresh = all - this.#taken;
    this.#taken = all;
    return fresh;
  }

  #showAll(): void {
    for (const [index, call] of this.#calls) {
      call.show();
      this.#pictures[index] = (this.#pictures[index] ?? 0) + call.pictures.down;
      call.pictures.down = 0;
    }
  }

  async #runOne(index: number): Promise<void> {
    const { errors } = this.#deps;
    while (!this.#isOver) {
      const call = this.#newCall(index);
      try {
        await this.#keepUp(index, call);
      } catch (error) {
        if (!this.#isOver) errors.add('call', error as Error);
        await sleep(againMs);
      }
      this.#calls.delete(index);
      await call.hangUp().catch(() => undefined);
    }
  }

  /** Rejects when a leg cannot come back, or when there was no picture between two changes. */
  async #keepUp(index: number, call: SoakCall): Promise<void> {
    await call.begin();
    this.#calls.set(index, call);
    while (!this.#isOver) {
      const before = this.#pictures[index] ?? 0;
      await this.#rest();
      if (this.#pictures[index] === before) throw new Error('no pictures');
      for (const complaint of call.complaints.splice(0)) this.#deps.errors.add('call', complaint);
      if (!this.#isOver) await call.change();
    }
  }

  async #rest(): Promise<void> {
    const untilMs = performance.now() + this.#deps.changeSeconds * 1000;
    while (!this.#isOver && performance.now() < untilMs) await sleep(100);
  }

  #newCall(index: number): SoakCall {
    const { client, url } = this.#deps;
    const kind = silentKinds[index % silentKinds.length] ?? 0;
    return new SoakCall({
      kind: kindOf(kind),
      films: this.#films,
      sounds: this.#sounds,
      chance: chanceFrom(index),
      issue: () =>
        issueCall(client, {
          url,
          device: index,
          index: kind,
          room: `room-${index}-${(this.#rooms += 1)}`,
        }),
    });
  }
}
