/** Devices and bridges that come back to their calls whenever their connection is lost, and pictures that flow between them. */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { BridgeLeg, DeviceLeg, LegRefused, type MediaLeg } from '../../src/tools/simulator/media-leg.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';

/** Between two attempts of a peer that finds nobody, or is told to come again. */
const comeBackMs = 50;

/** Connects again and again, until `stop`. */
abstract class ReturningPeer<Leg extends MediaLeg> {
  #leg: Leg | null = null;
  #isStopped = false;
  #fault: unknown = null;
  readonly #whenOver: Promise<void>;

  constructor() {
    // Behind the constructors of those that are built on it.
    this.#whenOver = Promise.resolve().then(() => this.#goOn());
  }

  /** Rejects with what was wrong with any of its connections: it is not let in, or not understood. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#leg?.terminate();
    await this.#whenOver;
    if (this.#fault !== null) throw this.#fault;
  }

  protected abstract connect(): Promise<Leg>;
  /** To its end. */
  protected abstract attend(leg: Leg): Promise<void>;

  async #goOn(): Promise<void> {
    while (!this.#isStopped)
      try {
        this.#leg = await this.connect();
        if (!this.#isStopped) await this.attend(this.#leg);
      } catch (error) {
        if (isForGood(error)) this.#fault ??= error;
        await pause(comeBackMs);
      }
    await this.#leg?.terminate();
  }
}

function isForGood(error: unknown): boolean {
  return error instanceof LegRefused && error.status !== 503;
}

interface Waiter {
  readonly connection: number;
  readonly resolve: (atMs: number) => void;
}

export class FlowingDevice extends ReturningPeer<DeviceLeg> {
  readonly #url: string;
  readonly #token: string;
  /** When the first picture of each connection came, monotonic. */
  readonly #firstPictureMs: (number | null)[] = [];
  #waiters: Waiter[] = [];

  readonly #accepts: boolean;

  constructor(url: string, token: string, { accepts }: { readonly accepts: boolean }) {
    super();
    this.#url = url;
    this.#token = token;
    this.#accepts = accepts;
  }

  /** Connections so far. */
  get connections(): number {
    return this.#firstPictureMs.length;
  }

  /** When the first picture of this connection, from 1, came: monotonic. */
  picturesFlow(connection: number): Promise<number> {
    const known = this.#firstPictureMs[connection - 1] ?? null;
    if (known !== null) return Promise.resolve(known);
    return new Promise((resolve) => this.#waiters.push({ connection, resolve }));
  }

  protected async connect(): Promise<DeviceLeg> {
    const connection = this.connections;
    const onFrame = (): void => this.#picture(connection);
    const leg = await DeviceLeg.connect({ url: this.#url, token: this.#token, onFrame });
    this.#firstPictureMs[connection] ??= null;
    return leg;
  }

  protected async attend(leg: DeviceLeg): Promise<void> {
    if (this.#accepts && this.connections === 1) leg.accept();
    await leg.closed;
  }

  #picture(connection: number): void {
    if ((this.#firstPictureMs[connection] ?? null) !== null) return;
    const atMs = performance.now();
    this.#firstPictureMs[connection] = atMs;
    for (const waiter of this.#waiters) if (waiter.connection === connection + 1) waiter.resolve(atMs);
    this.#waiters = this.#waiters.filter((waiter) => waiter.connection !== connection + 1);
  }
}

export interface FlowingBridgeAccess {
  readonly url: string;
  readonly key: string;
  /** It comes for this one, and says that its call is connected; left out: it stands idle, takes what it is given, and says nothing. */
  readonly session?: string;
}

export class FlowingBridge extends ReturningPeer<BridgeLeg> {
  readonly #access: FlowingBridgeAccess;
  readonly #film: readonly SourceFrame[];
  readonly #frameMs: number;
  #next = 0;

  /** `film`: begins with a key frame, and so it does again when one is wanted. */
  constructor(access: FlowingBridgeAccess, film: readonly SourceFrame[], frameMs: number) {
    super();
    this.#access = access;
    this.#film = film;
    this.#frameMs = frameMs;
  }

  protected connect(): Promise<BridgeLeg> {
    return BridgeLeg.connect({ ...this.#access, onKeyFrameWanted: () => (this.#next = 0) });
  }

  protected async attend(leg: BridgeLeg): Promise<void> {
    if (this.#access.session === undefined) await leg.acceptAssignment();
    else {
      await leg.next('start');
      leg.report('connected');
    }
    this.#next = 0;
    let timestampMs = 0;
    const playing = setInterval(() => {
      leg.frame(this.#frame(timestampMs));
      timestampMs += this.#frameMs;
    }, this.#frameMs);
    await leg.closed;
    clearInterval(playing);
  }

  #frame(timestampMs: number): Buffer {
    const index = this.#next;
    this.#next = (index + 1) % this.#film.length;
    const frame = this.#film[index];
    if (frame === undefined) throw new Error('the film has no frames');
    const { format, width, height, payload } = frame;
    const header = { kind: 'video', format, isKeyFrame: index === 0, width, height, timestampMs } as const;
    return Buffer.concat([encodeFrameHeader(header), payload]);
  }
}
