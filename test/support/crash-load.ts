/**
 * The load under which a server is killed: modules and controllers that connect, take over, send heartbeats and disconnect at
 * random, wakeups for sleeping devices, and a backend that reads the log.
 */
import assert from 'node:assert/strict';
import { SignalController } from '../../src/tools/simulator/signal-controller.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { ApiAnswer, ApiClient } from './api-client.ts';
import type { PublishedEvent } from './event-log-check.ts';
import { readEvents } from './event-reader.ts';
import type { Chance } from './seeded-random.ts';
import { secretOf } from './site-server.ts';

export interface LoadTarget {
  readonly api: ApiClient;
  readonly ports: { readonly sleep: number; readonly signal: number };
  readonly deviceIds: readonly string[];
}

/** The load ends with its server; an error before that is an error of the server. */
export class CrashLoad {
  readonly shown: PublishedEvent[] = [];
  wakeupsSent = 0;
  readonly #target: LoadTarget;
  readonly #chance: Chance;
  readonly #playing: Promise<void>[];
  #isOver = false;
  #happenings = 0;
  #awaited: { readonly count: number; readonly resolve: () => void } | null = null;
  #fail: (error: unknown) => void = () => undefined;
  readonly #failed: Promise<never>;

  constructor(target: LoadTarget, chance: Chance) {
    this.#target = target;
    this.#chance = chance;
    this.#failed = new Promise((_, reject) => (this.#fail = reject));
    this.#failed.catch(() => undefined);
    this.#playing = [this.#read(), ...target.deviceIds.map((deviceId) => this.#play(deviceId))];
  }

  /** Resolves when the server has answered `count` requests in total; rejects at a wrong answer. */
  happened(count: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#awaited = { count, resolve };
    });
    return Promise.race([reached, this.#failed]);
  }

  /** Call before the server is killed: later failures are expected. */
  end(): void {
    this.#isOver = true;
  }

  async ended(): Promise<void> {
    await Promise.all(this.#playing);
  }

  #happen(): void {
    this.#happenings += 1;
    if (this.#awaited !== null && this.#happenings >= this.#awaited.count) this.#awaited.resolve();
  }

  async #untilOver(act: () => Promise<void>): Promise<void> {
    while (!this.#isOver)
      try {
        await act();
      } catch (error) {
        if (!this.#isOver) this.#fail(error);
        return;
      }
  }

  #read(): Promise<void> {
    let cursor: string | null = null;
    return this.#untilOver(async () => {
      const page = await readEvents(this.#target.api, cursor, 1 + this.#chance.below(100), 5);
      this.shown.push(...page.events);
      cursor = page.next;
      this.#happen();
    });
  }

  async #play(deviceId: string): Promise<void> {
    const device = new PlayedDevice(this.#target, deviceId);
    await this.#untilOver(() => this.#act(device));
    await device.allClosed();
  }

  async #act(device: PlayedDevice): Promise<void> {
    const chance = this.#chance;
    const turn = chance.below(10);
    if (turn < 3) await device.sleep();
    else if (turn < 6) await device.connectSignal();
    else if (turn < 8) await this.#wake(device.deviceId);
    else if (turn < 9) device.heartbeat();
    else await device.leave(chance.below(5));
    if (turn < 6) this.#happen();
  }

  async #wake(deviceId: string): Promise<void> {
    // The number makes every signature unique, so that no request is a repeat.
    const body = { device_id: deviceId, number: (this.wakeupsSent += 1) };
    const answer = await this.#target.api.wake(body);
    if (answer.status === 202) this.#happen();
    else assert.ok(isOrdinary(answer), answer.text);
  }
}

/** Expected refusals: the device is not asleep, or its connection closed during the wakeup. */
function isOrdinary({ json }: ApiAnswer): boolean {
  return [40412, 50204, 50402].includes(json.code ?? 0);
}

class PlayedDevice {
  readonly deviceId: string;
  readonly #target: LoadTarget;
  #module: SleepingModule | null = null;
  #controller: SignalController | null = null;
  readonly #closed: Promise<unknown>[] = [];

  constructor(target: LoadTarget, deviceId: string) {
    this.#target = target;
    this.deviceId = deviceId;
  }

  /** A module logs in; an open session is replaced. */
  async sleep(): Promise<void> {
    const { ports } = this.#target;
    const credentials = { deviceId: this.deviceId, secret: secretOf(this.deviceId) };
    const module = await SleepingModule.connect(ports.sleep, credentials);
    this.#closed.push(module.closed);
    this.#module = module;
  }

  async connectSignal(): Promise<void> {
    const { ports } = this.#target;
    const controller = await SignalController.connect({
      url: `ws://127.0.0.1:${ports.signal}`,
      deviceId: this.deviceId,
      secret: secretOf(this.deviceId),
    });
    this.#closed.push(controller.closed);
    this.#controller = controller;
  }

  heartbeat(): void {
    this.#module?.heartbeat();
    this.#controller?.heartbeat();
  }

  async leave(way: number): Promise<void> {
    if (way === 0) await this.#module?.close();
    else if (way === 1) await this.#module?.reset();
    else if (way === 2) await this.#controller?.close();
    else if (way === 3) await this.#controller?.terminate();
    else await this.#controller?.bye('done');
  }

  async allClosed(): Promise<void> {
    await Promise.all(this.#closed);
  }
}
