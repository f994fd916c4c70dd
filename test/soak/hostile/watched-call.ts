/** One call during the attacks: H.264 video transcoded for the device, and audio transcoded in both directions. */
import assert from 'node:assert/strict';
import { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { openEngine } from '../../../src/media/codec/engine.ts';
import type { ListenerPorts } from '../../support/server-process.ts';
import { siteCredential } from '../../support/site-server.ts';
import { chanceFrom } from '../../support/seeded-random.ts';
import { SoakCall } from '../media/call.ts';
import { makeFilms } from '../media/films.ts';
import { kindOf } from '../media/kinds.ts';
import { issueCall } from '../media/call-server.ts';
import { Sounds } from '../media/sounds.ts';

/** Catches hangs: six processes share the CPUs, and an overdue picture makes the server replace its worker. */
const gapMsMax = 10_000;
const observedMs = 20;

class Gap {
  longestMs = 0;
  #count = 0;
  #changedMs = performance.now();

  observe(count: number): void {
    const nowMs = performance.now();
    this.longestMs = Math.max(this.longestMs, Math.round(nowMs - this.#changedMs));
    if (count !== this.#count) this.#changedMs = nowMs;
    this.#count = count;
  }
}

export class WatchedCall {
  readonly #call: SoakCall;
  readonly #client: ReveilleClient;
  readonly #stop: () => void;
  readonly #gaps = { pictures: new Gap(), sound: new Gap(), uplinkSound: new Gap() };
  #picturesBefore = 0;
  #beforeMs = performance.now();

  /** `device`: number in the registry of the site. */
  static async begin(ports: ListenerPorts, device: number): Promise<WatchedCall> {
    const engine = await openEngine();
    assert(engine.ok);
    const origin = `http://127.0.0.1:${ports.api}`;
    const client = new ReveilleClient({ origin, credential: siteCredential });
    const place = { url: `ws://127.0.0.1:${ports.media}`, device, index: 0 };
    const call = new SoakCall({
      kind: kindOf(place.index),
      films: makeFilms(engine.value),
      sounds: new Sounds(engine.value),
      chance: chanceFrom(1),
      issue: () => issueCall(client, { ...place, room: 'watched' }),
    });
    await call.begin();
    return new WatchedCall(call, client);
  }

  private constructor(call: SoakCall, client: ReveilleClient) {
    this.#call = call;
    this.#client = client;
    const stopPlaying = call.play();
    const timer = setInterval(() => this.#observe(), observedMs);
    this.#stop = () => {
      stopPlaying();
      clearInterval(timer);
    };
  }

  /** Figures since the previous call; gaps are the longest so far. */
  figures(): object {
    const nowMs = performance.now();
    const pictures = this.#call.pictures.down - this.#picturesBefore;
    const picturesPerSecond = Math.round((pictures * 1000) / (nowMs - this.#beforeMs));
    [this.#picturesBefore, this.#beforeMs] = [this.#call.pictures.down, nowMs];
    const { pictures: seen, sound, uplinkSound } = this.#gaps;
    return {
      picturesPerSecond,
      pictureGapMs: seen.longestMs,
      soundGapMs: Math.max(sound.longestMs, uplinkSound.longestMs),
    };
  }

  judge(): readonly string[] {
    const gaps = Object.entries(this.#gaps).filter(([, { longestMs }]) => longestMs > gapMsMax);
    return [
      ...gaps.map(([what, { longestMs }]) => `the call had a gap of ${longestMs} ms: ${what}`),
      ...this.#call.complaints.slice(0, 1),
      ...this.#call.ears.flatMap(({ complaints }) => complaints.slice(0, 1)),
    ];
  }

  async end(): Promise<void> {
    this.#stop();
    await this.#call.hangUp();
    this.#client.close();
  }

  #observe(): void {
    const { pictures, sound, uplinkSound } = this.#gaps;
    const [device, bridge] = this.#call.ears;
    pictures.observe(this.#call.pictures.down);
    sound.observe(device?.packets ?? 0);
    uplinkSound.observe(bridge?.packets ?? 0);
  }
}
