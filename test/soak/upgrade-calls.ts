/** Calls with pictures over upgrades. A call whose pictures have stopped begins again. */
import { setTimeout as wait } from 'node:timers/promises';
import { ReveilleClient } from '../../src/client/reveille-client.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { siteCredential, type SiteServer } from '../support/site-server.ts';
import { issueCall } from './media/call-server.ts';
import { SoakCall } from './media/call.ts';
import { makeFilms } from './media/films.ts';
import { kindOf } from './media/kinds.ts';
import { Sounds } from './media/sounds.ts';

/** Pictures without sound: an H.264 film that is made JPEGs of. */
const kind = 5;
/** A call without a picture for so long has none. */
const picturesMs = 3000;

export class UpgradeCalls {
  /** Calls whose pictures had stopped. */
  begunAgain = 0;
  readonly #calls: readonly SoakCall[];
  readonly #client: ReveilleClient;
  readonly #stops: readonly (() => void)[];

  private constructor(calls: readonly SoakCall[], client: ReveilleClient) {
    this.#calls = calls;
    this.#client = client;
    this.#stops = calls.map((call) => call.play());
  }

  static async begin({ ports }: SiteServer, count: number): Promise<UpgradeCalls> {
    const engine = await openEngine();
    if (!engine.ok) throw new Error(engine.error);
    const client = new ReveilleClient({
      origin: `http://127.0.0.1:${ports.api}`,
      credential: siteCredential,
    });
    const [films, sounds] = [makeFilms(engine.value), new Sounds(engine.value)];
    let rooms = 0;
    const calls = Array.from({ length: count }, (_, device) => {
      const url = `ws://127.0.0.1:${ports.media}`;
      const issue = () =>
        issueCall(client, { url, device, index: kind, room: `room-${device}-${(rooms += 1)}` });
      return new SoakCall({ kind: kindOf(kind), films, sounds, chance: chanceFrom(device), issue });
    });
    const begun = new UpgradeCalls(calls, client);
    await Promise.all(calls.map((call) => call.begin()));
    return begun;
  }

  /** Resolves to the number of calls that have no pictures, also where they begin again. */
  async withoutPictures(): Promise<number> {
    const stopped = await this.#stopped(this.#calls);
    this.begunAgain += stopped.length;
    await Promise.all(
      stopped.map(async (call) => {
        await call.hangUp().catch(() => undefined);
        await call.begin().catch(() => undefined);
      }),
    );
    return (await this.#stopped(stopped)).length;
  }

  async end(): Promise<void> {
    for (const stop of this.#stops) stop();
    await Promise.all(this.#calls.map((call) => call.hangUp().catch(() => undefined)));
    this.#client.close();
  }

  async #stopped(calls: readonly SoakCall[]): Promise<readonly SoakCall[]> {
    const before = calls.map(({ pictures }) => pictures.down);
    if (calls.length > 0) await wait(picturesMs);
    return calls.filter(({ pictures }, number) => pictures.down === before[number]);
  }
}
