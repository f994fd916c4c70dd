/** A pool of bridges behind a real call directory, and bridges that record offers and calls. */
import { BridgePool } from '../../src/core/calls/bridge-pool.ts';
import { IdleBridge, type BridgeCandidate } from '../../src/core/calls/offered-call.ts';
import type { CallOrder, CallSession } from '../../src/model/call.ts';
import type { ApplicationId, DeviceId, SessionId } from '../../src/model/ids.ts';
import type { ReservationRefusal } from '../../src/model/media/picture.ts';
import { CallScene, orderForRoom } from './call-scene.ts';
import { FakeCallLeg, FakeLog, FakePlacement, testApp } from './fakes.ts';

export class PoolScene extends CallScene {
  readonly log = new FakeLog();
  readonly placement = new FakePlacement();
  pool: BridgePool;
  readonly #assign: 'issuance' | 'device';
  readonly #newPool: typeof BridgePool;
  #rooms = 0;

  constructor(assign: 'issuance' | 'device' = 'issuance', newPool = BridgePool) {
    super();
    this.#assign = assign;
    this.#newPool = newPool;
    this.pool = this.#compose();
  }

  override restart(downMs?: number): void {
    super.restart(downMs);
    this.pool = this.#compose();
    this.pool.resume();
  }

  newCall(appId = testApp, change: Partial<CallOrder> = {}): SessionId {
    this.#rooms += 1;
    const deviceId = `device-${this.#rooms}` as DeviceId;
    return this.issue(orderForRoom(`room-${this.#rooms}`, { appId, deviceId, ...change }));
  }

  /** A bridge of these applications becomes idle; null: of all. */
  newBridge(appIds: readonly ApplicationId[] | null = [testApp], process = 0): FakeBridge {
    const bridge = new FakeBridge(this, appIds, process);
    bridge.join();
    return bridge;
  }

  #compose(): BridgePool {
    const pool = new this.#newPool({
      clock: this.clock,
      telemetry: this.telemetry,
      log: this.log,
      placement: this.placement,
      directory: this.directory,
      assign: this.#assign,
    });
    this.directory.follow(pool);
    return pool;
  }
}

export class FakeBridge implements BridgeCandidate {
  readonly leg: FakeCallLeg;
  readonly appIds: readonly ApplicationId[] | null;
  readonly asked: SessionId[] = [];
  call: SessionId | null = null;
  /** True: it disconnects in the turn in which a call is offered. */
  leavesWhenAsked = false;
  readonly idle: IdleBridge;
  readonly #scene: PoolScene;

  constructor(scene: PoolScene, appIds: readonly ApplicationId[] | null, process: number) {
    this.#scene = scene;
    this.leg = new FakeCallLeg(process);
    this.appIds = appIds;
    this.idle = new IdleBridge(this, appIds, process);
  }

  join(): void {
    this.#scene.pool.join(this.idle);
  }

  ask(sessionId: SessionId): void {
    this.asked.push(sessionId);
    if (this.leavesWhenAsked) this.leave();
  }

  startCall({ sessionId }: CallSession): boolean {
    if (!this.#scene.directory.connectBridge(sessionId, this.leg)) return false;
    this.call = sessionId;
    return true;
  }

  accept(): void {
    this.#scene.pool.answer(this.idle, true);
  }

  refuse(): void {
    this.#scene.pool.answer(this.idle, false);
  }

  /** Its media process refuses the call; the bridge does not learn of it. */
  cannotCarry(why: ReservationRefusal): void {
    this.#scene.pool.cannotCarry(this.idle, why);
  }

  leave(): void {
    if (this.call === null) this.#scene.pool.leave(this.idle);
    else this.#scene.directory.disconnected(this.call, 'bridge', this.leg);
  }
}
