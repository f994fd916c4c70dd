/**
 * The fronts of the API: threads that each listen on its port and check requests, in front of one core. A front is replaced if it
 * ends, stops turning its event loop, or does not confirm a changed credential. Source: scale-out.md, API fronts.
 */
import { freePort } from '../../lib/accept-queue.ts';
import {
  cannotListen,
  formatListenAddress,
  type ListenAddress,
} from '../../lib/connections/listen-address.ts';
import { readCertificate } from '../../lib/connections/tls-files.ts';
import { messageOf } from '../../lib/result.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { frontStuckMsMax } from '../../model/http-limits.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import { answersPerTurnMax } from '../../model/limits.ts';
import type { Credential } from '../../model/registry.ts';
import type { FrontLoss, FrontsFigures } from '../../telemetry/front-gauges.ts';
import type { Missing } from '../../telemetry/readiness.ts';
import type { Dispatcher } from '../api/dispatcher.ts';
import { Front, type FrontContext } from './front.ts';
import { FrontPlace } from './front-place.ts';
import { FrontTurns } from './front-turns.ts';
import type { FrontThread } from './front-thread.ts';
import { frontCounterWords, type FrontOrder, type FrontStart } from './front-messages.ts';

export interface ApiFrontsDeps extends Omit<FrontContext, 'turns'> {
  readonly count: number;
  /** True: the previous or next core may listen on the port at the same time. */
  readonly sharesPort: boolean;
  readonly start: Omit<FrontStart, 'counters'>;
  startThread(start: FrontStart, clock: Clock): FrontThread;
  /** Maximum number of connections, all fronts together. */
  connectionsMax(): number;
  /** Called when a stuck front cannot be ended; the process has to exit. */
  onStuck(): void;
}

export interface FrontedCore {
  readonly dispatcher: Dispatcher;
  allCredentials(): readonly Credential[];
  findCredential(accessKeyId: AccessKeyId): Credential | null;
}

const progressCheckMs = 500;

export class ApiFronts {
  readonly #deps: ApiFrontsDeps;
  readonly #context: FrontContext;
  readonly #places: readonly FrontPlace[];
  #start: ApiFrontsDeps['start'];
  #loading: Promise<readonly Front[]> | null = null;
  readonly #cancels: Cancel[] = [];
  #core: FrontedCore | null = null;
  #isDraining = false;
  #isClosed = false;
  #isListening = false;
  #address: string | null = null;

  constructor(deps: ApiFrontsDeps) {
    this.#deps = deps;
    this.#start = deps.start;
    this.#context = { ...deps, turns: new FrontTurns(answersPerTurnMax) };
    const placeDeps = {
      ...deps,
      start: (name: string) => this.#startFront(name),
      isWanted: () => !this.#isClosed && this.#isListening && this.#address !== null,
      onNext: (front: Front) => void this.#connect(front),
    };
    this.#places = Array.from(
      { length: deps.count },
      (_, place) => new FrontPlace(`front-${place}`, placeDeps),
    );
  }

  /** Null: not listening. */
  get address(): string | null {
    return this.#address;
  }

  get count(): number {
    return this.#sum((place) => place.count('connections'));
  }

  get refused(): number {
    return this.#sum((place) => place.count('refused'));
  }

  get evicted(): number {
    return this.#sum((place) => place.count('evicted'));
  }

  get figures(): FrontsFigures {
    const lost = (loss: FrontLoss): number => this.#sum(({ losses }) => losses[loss]);
    return {
      fronts: this.#places.map(({ figures }) => figures),
      replacements: { ended: lost('ended'), stuck: lost('stuck'), credentials: lost('credentials') },
      refusedCalls: this.#sum((place) => place.count('refusedCalls')),
    };
  }

  /** The fronts that do not serve; a single serving front suffices. */
  get missing(): Missing {
    const lost = this.figures.fronts.filter(({ state }) => state !== 'up');
    return { isReady: lost.length < this.#places.length, reasons: lost.map(({ name }) => name) };
  }

  /** Starts the threads. All listen at the same moment, because a request accepted by the first would wait for the last. */
  load(): Promise<readonly Front[]> {
    return (this.#loading ??= this.#load());
  }

  /** Rejects if the address is unavailable. */
  async listen(): Promise<void> {
    const fronts = await this.load();
    this.#isListening = true;
    await Promise.all(fronts.map((front) => front.listen()));
    this.#address = formatListenAddress(this.#start.listen);
    this.#cancels.push(this.#deps.clock.every(progressCheckMs, () => this.#checkProgress()));
  }

  serve(core: FrontedCore): void {
    this.#core = core;
    for (const front of this.#live()) void this.#connect(front);
  }

  /** While draining, each answer closes its connection. Resolves when every front has confirmed. */
  drain(isDraining: boolean): Promise<void> {
    this.#isDraining = isDraining;
    return this.#askAll(isDraining ? 'drain' : 'stay');
  }

  /**
   * Resolves when every serving front has confirmed the change or is being replaced. Null: any credential may have changed. Never
   * rejects.
   */
  async credentialsChanged(changed: readonly AccessKeyId[] | null): Promise<void> {
    const set = this.#readCredentials(changed);
    if (set === null) return;
    const serving = this.#live().filter((front) => front.isServing);
    await Promise.all(
      serving.map((front) =>
        front.updateCredentials(changed === null, set, changed ?? []).catch((error: unknown) => {
          this.#replace(front, 'credentials', `a changed credential: ${messageOf(error)}`);
        }),
      ),
    );
  }

  /** Throws, and changes nothing, if the certificate files are invalid. */
  async reloadTls(): Promise<void> {
    readCertificate(this.#deps.start.tls);
    await Promise.all(
      this.#live().map((front) =>
        front.ask('reload-tls').catch((error: unknown) => {
          // The replacement of an ended front reads the new files.
          if (front.figures.state !== 'ended') throw error;
        }),
      ),
    );
  }

  async stopListening(): Promise<void> {
    this.#isListening = false;
    await this.#askAll('stop-listening');
  }

  idle(): Promise<void> {
    return this.#askAll('idle');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#live().map((front) => this.#end(front, 'the server ends')));
    for (const cancel of this.#cancels) cancel();
  }

  /** Ignores fronts that end meanwhile: they have no requests left. */
  async #askAll(order: FrontOrder['kind']): Promise<void> {
    await Promise.all(this.#live().map((front) => front.ask(order).catch(() => undefined)));
  }

  async #load(): Promise<readonly Front[]> {
    const { start, sharesPort } = this.#deps;
    const { listen } = start;
    // Fronts share the port as separate servers would, so another server could take it too.
    const port = sharesPort ? listen.port : await findPort(listen);
    this.#start = { ...start, listen: { ...listen, port } };
    const fronts = this.#places.map((place) => place.begin());
    await Promise.all(fronts.map((front) => front.ask('idle')));
    return fronts;
  }

  #startFront(name: string): Front {
    const counters = new SharedArrayBuffer(frontCounterWords * Int32Array.BYTES_PER_ELEMENT);
    const thread = this.#deps.startThread({ ...this.#start, counters }, this.#deps.clock);
    const front = new Front(name, this.#context, thread, counters);
    front.connectionsMax = this.#share();
    return front;
  }

  /** Null: there is no core, or it cannot read the registry; the core itself refuses revoked credentials. */
  #readCredentials(changed: readonly AccessKeyId[] | null): readonly Credential[] | null {
    const core = this.#core;
    if (core === null) return null;
    try {
      return changed === null
        ? core.allCredentials()
        : changed.flatMap((id) => core.findCredential(id) ?? []);
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'API fronts: changed credentials cannot be read; fronts keep the previous ones',
      );
      return null;
    }
  }

  /** Sends the current credentials once the front listens, so that no credential change waits for a thread that is still starting. */
  async #connect(front: Front): Promise<void> {
    try {
      await front.listen();
      const core = this.#core;
      if (core !== null && !front.isServing)
        front.serve(core.dispatcher, core.allCredentials(), this.#isDraining);
    } catch (error) {
      this.#replace(front, 'ended', `its start: ${messageOf(error)}`);
    }
  }

  #checkProgress(): void {
    for (const front of this.#live()) {
      front.connectionsMax = this.#share();
      // A loading front does not turn its event loop, possibly for long on a busy machine.
      if (!front.isLoading && front.countStalls() * progressCheckMs >= frontStuckMsMax)
        this.#replace(front, 'stuck', `its loop has not turned for ${frontStuckMsMax / 1000} s`);
    }
  }

  #replace(front: Front, loss: FrontLoss, reason: string): void {
    void this.#end(front, reason, loss);
  }

  async #end(front: Front, reason: string, loss?: FrontLoss): Promise<void> {
    if (await front.end(reason, loss)) return;
    this.#deps.log.error(
      { front: front.name, reason },
      'API front: stuck and cannot be ended; restarting the core',
    );
    this.#deps.onStuck();
  }

  #share(): number {
    return Math.ceil(this.#deps.connectionsMax() / this.#places.length);
  }

  #live(): readonly Front[] {
    return this.#places.flatMap(({ front }) => front ?? []);
  }

  #sum(of: (place: FrontPlace) => number): number {
    return this.#places.reduce((sum, place) => sum + of(place), 0);
  }
}

async function findPort(listen: ListenAddress): Promise<number> {
  return freePort({ ...listen, exclusive: true }).catch((cause: unknown) => {
    throw cannotListen(listen, cause);
  });
}
