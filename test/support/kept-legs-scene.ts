/** A media process that outlives its core: a test cuts the link, kills the core, and drives peers with their legs. */
import { setImmediate } from 'node:timers/promises';
import { MediaEnd } from '../../src/media/link/media-end.ts';
import type { ServerEnd } from '../../src/media/link/server-end.ts';
import type { OpenBridgeLeg, OpenDeviceLeg } from '../../src/core/ports/leg-service.ts';
import type { CallSession } from '../../src/model/call.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { mediaAwayMsMax } from '../../src/model/limits.ts';
import { DuplexPair } from './duplex-pair.ts';
import { FakeCallLeg } from './fakes.ts';
import { admitted, bridgeKey, LegServiceScene, type Opened } from './leg-service-scene.ts';
import { FakeMediaProcess, openServerEnd } from './linked-leg-service.ts';

interface Commit {
  readonly records: readonly (readonly [DeviceId, readonly CallSession[]])[];
  readonly events: number;
}

export class KeptLegsScene extends LegServiceScene {
  readonly media: MediaEnd;
  core: ServerEnd;
  #pair: DuplexPair;

  private constructor() {
    super();
    const { clock } = this;
    this.media = new MediaEnd({ clock, awayMsMax: mediaAwayMsMax, onEnd: () => undefined });
    this.media.ready({ host: '127.0.0.1', port: 8083 }, new FakeMediaProcess());
    [this.#pair, this.core] = this.#link();
  }

  static async open(): Promise<KeptLegsScene> {
    const scene = new KeptLegsScene();
    await scene.untilIdle();
    return scene;
  }

  /** Kills the core; uncommitted data is lost. */
  async kill(commit: Commit = this.commit()): Promise<void> {
    await this.cut();
    this.records.records.clear();
    for (const [deviceId, sessions] of commit.records) this.records.records.set(deviceId, sessions);
    this.records.events.splice(commit.events);
    this.restart();
  }

  commit(): Commit {
    return { records: [...this.records.records], events: this.records.events.length };
  }

  async cut(): Promise<void> {
    this.#pair.there.destroy();
    await this.untilIdle();
  }

  /** Links to the current core, which then adopts its pool of bridges. */
  async link(): Promise<void> {
    [this.#pair, this.core] = this.#link();
    await this.untilIdle();
    this.pool.resume();
    await this.untilIdle();
  }

  async device(token: string): Promise<Opened<OpenDeviceLeg>> {
    const leg = new FakeCallLeg();
    const { service } = this.media;
    const open = service.openDeviceLeg(admitted(await service.admitDevice(token)), leg);
    if (open === null) throw new Error('the leg was not opened');
    await this.untilIdle();
    return { leg, open };
  }

  async bridge(session: SessionId | null = null, key = bridgeKey): Promise<Opened<OpenBridgeLeg>> {
    const leg = new FakeCallLeg();
    const { service } = this.media;
    const open = service.openBridgeLeg(admitted(await service.admitBridge(key, session)), leg);
    if (open === null) throw new Error('the leg was not opened');
    await this.untilIdle();
    return { leg, open };
  }

  async untilIdle(): Promise<void> {
    for (let turn = 0; turn < 6; turn += 1) await setImmediate();
  }

  #link(): [DuplexPair, ServerEnd] {
    const pair = new DuplexPair();
    const core = openServerEnd(pair.here, this, { onEnd: () => undefined });
    this.media.attach(pair.there);
    return [pair, core];
  }
}
