/** Calls with pictures: each repeatedly loses and reconnects a leg, or restarts; a call without pictures is restarted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../../src/media/codec/engine.ts';
import type { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { chanceFrom } from '../../support/seeded-random.ts';
import { SoakCall } from '../media/call.ts';
import { makeFilms, type FilmLibraries } from '../media/films.ts';
import { kindOf } from '../media/kinds.ts';
import { issueCall } from '../media/call-server.ts';
import { Sounds } from '../media/sounds.ts';
import type { ErrorCounts } from './latencies.ts';

export interface CallLoadDeps {
  readonly engine: Engine;
  readonly client: ReveilleClient;
  readonly url: string;
  readonly calls: number;
  readonly changeSeconds: number;
  /** False: calls are checked every `changeSeconds`, but not changed. */
  readonly changes?: boolean;
  readonly errors: ErrorCounts;
}

/** Video only: an H.264 film transcoded to JPEG, and a JPEG film scaled down. */
const silentKinds = [5, 3];
const againMs = 2000;

export class CallLoad {
  readonly #deps: CallLoadDeps;
  readonly #films: FilmLibraries;
  readonly #sounds: Sounds;
  readonly #calls = new Set<SoakCall>();
  #rooms = 0;
  /** Pictures of ended calls; below, the pictures of all calls at the last read. */
  #picturesBefore = 0;
  #taken = 0;
  #isOver = false;

  constructor(deps: CallLoadDeps) {
    this.#deps = deps;
    this.#films = makeFilms(deps.engine);
    this.#sounds = new Sounds(deps.engine);
  }

  /** Resolves after `stop`, when all calls have ended. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#deps.calls }, (_, index) => this.#runOne(index)));
  }

  stop(): void {
    this.#isOver = true;
  }

  /** Resolves with the number of calls without a picture for `ms`. */
  async withoutPictures(ms: number): Promise<number> {
    const before = new Map(Array.from(this.#calls, (call) => [call, call.pictures.down]));
    await sleep(ms);
    return [...this.#calls].filter((call) => call.pictures.down === (before.get(call) ?? 0)).length;
  }

  readPictures(): number {
    let all = this.#picturesBefore;
    for (const { pictures } of this.#calls) all += pictures.down;
    const fresh = all - this.#taken;
    this.#taken = all;
    return fresh;
  }

  async #runOne(index: number): Promise<void> {
    const { errors } = this.#deps;
    while (!this.#isOver) {
      const call = this.#newCall(index);
      this.#calls.add(call);
      const stop = call.play();
      try {
        await this.#keepUp(call);
      } catch (error) {
        if (!this.#isOver) errors.add('call', error as Error);
        await sleep(againMs);
      }
      stop();
      this.#calls.delete(call);
      this.#picturesBefore += call.pictures.down;
      await call.hangUp().catch(() => undefined);
    }
  }

  /** Rejects if a leg cannot reconnect, or no picture arrived between two changes. */
  async #keepUp(call: SoakCall): Promise<void> {
    const { pictures, complaints } = call;
    await call.begin();
    while (!this.#isOver) {
      const { down: before } = pictures;
      await this.#rest();
      if (pictures.down === before) throw new Error('no pictures');
      for (const complaint of complaints.splice(0)) this.#deps.errors.add('call', complaint);
      if (!this.#isOver && this.#deps.changes !== false) await call.change();
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
