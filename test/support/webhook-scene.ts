/** Webhooks in one process: a driven clock, a log and a registry in memory, and a receiver whose answers a test scripts. */
import { setImmediate } from 'node:timers/promises';
import type { LoggedEvent } from '../../src/model/events.ts';
import type { ApplicationId, DeviceId, EventId, ProductId, SessionId } from '../../src/model/ids.ts';
import type { Product, Webhook } from '../../src/model/registry.ts';
import type { DeliveryStore } from '../../src/core/ports/delivery-store.ts';
import type {
  WebhookAnswer,
  WebhookMessage,
  WebhookSender,
  LogPages,
  WebhookRegistry,
} from '../../src/core/ports/webhook-sender.ts';
import { WebhookEngine } from '../../src/webhooks/delivery/engine.ts';
import type { Hook } from '../../src/webhooks/delivery/hook.ts';
import { webhookLimits, type WebhookLimits } from '../../src/webhooks/delivery/limits.ts';
import { WebhookAdmin } from '../../src/webhooks/delivery/webhook-admin.ts';
import { DrivenClock } from './driven-clock.ts';
import { MortalClock } from './mortal-clock.ts';
import { FakeLog, FakeTelemetry, testApp } from './fakes.ts';
import { MemoryDeliveryStore } from './memory-delivery-store.ts';

export const hookUrl = 'https://backend.example/hook';

export function webhook(overrides: Partial<Webhook> = {}): Webhook {
  return { appId: testApp, url: hookUrl, secret: 'whsec_c2VjcmV0', types: ['*'], ...overrides };
}

export function loggedEvent(sequence: number, deviceId: string, productId = 'doorbell'): LoggedEvent {
  return {
    type: 'device.sleep.login',
    data: { session: `session-${sequence}` as SessionId, node: 'node', replaced: false },
    deviceId: deviceId as DeviceId,
    atMs: 1_800_000_000_000 + sequence,
    epoch: 1,
    id: `event-${sequence}` as EventId,
    sequence,
    seq: 1,
    productId: productId as ProductId,
  };
}

export class MemoryLog implements LogPages {
  readonly #events: LoggedEvent[] = [];
  #forgotten = 0;
  reads = 0;
  failure: Error | null = null;

  get head(): number {
    return this.#forgotten + this.#events.length;
  }

  get oldest(): number {
    return this.#forgotten + 1;
  }

  append(deviceId: string, productId?: string): LoggedEvent {
    const event = loggedEvent(this.head + 1, deviceId, productId);
    this.#events.push(event);
    return event;
  }

  forget(sequence: number): void {
    this.#events.splice(0, sequence - this.#forgotten);
    this.#forgotten = sequence;
  }

  read(after: number, limit: number, upTo: number): readonly LoggedEvent[] {
    if (this.failure !== null) throw this.failure;
    this.reads += 1;
    const from = Math.max(0, after - this.#forgotten);
    return this.#events.slice(from, Math.min(from + limit, upTo - this.#forgotten));
  }
}

export class MemoryRegistry implements WebhookRegistry {
  readonly hooks: Webhook[] = [];
  readonly products = new Map<string, readonly ApplicationId[]>([['doorbell', [testApp]]]);
  failure: Error | null = null;

  webhooks(): readonly Webhook[] {
    if (this.failure !== null) throw this.failure;
    return this.hooks;
  }

  findProduct(productId: ProductId): Product | null {
    const appIds = this.products.get(productId);
    return appIds === undefined ? null : { productId, appIds };
  }
}

interface Sent {
  readonly url: string;
  readonly sequence: number;
  readonly deviceId: string;
  readonly message: WebhookMessage;
  readonly atMs: number;
  readonly answer: (answer: WebhookAnswer) => void;
}

export const good: WebhookAnswer = { kind: 'delivered', status: 200 };
export const bad: WebhookAnswer = { kind: 'failed', status: 500, reason: 'answered 500' };
export const gone: WebhookAnswer = { kind: 'gone', status: 410, reason: 'answered 410' };

/** Attempts stay pending until the test answers them, unless `automatic` answers at once. */
export class ScriptedSender implements WebhookSender {
  readonly #clock: DrivenClock;
  readonly sent: Sent[] = [];
  readonly waiting: Sent[] = [];
  automatic: ((sent: Sent) => WebhookAnswer | null) | null = null;
  isClosed = false;

  constructor(clock: DrivenClock) {
    this.#clock = clock;
  }

  send({ url }: Webhook, message: WebhookMessage): Promise<WebhookAnswer> {
    const sequence = Number(message.id.split('-')[1] ?? 0);
    const { device_id: deviceId } = JSON.parse(message.body) as { device_id: string };
    return new Promise((resolve) => {
      const answer = (given: WebhookAnswer): void => {
        const at = this.waiting.indexOf(sent);
        if (at !== -1) this.waiting.splice(at, 1);
        resolve(given);
      };
      const sent: Sent = { url, sequence, deviceId, message, atMs: this.#clock.monotonicMs(), answer };
      this.sent.push(sent);
      const given = this.automatic?.(sent) ?? null;
      if (given === null) this.waiting.push(sent);
      else resolve(given);
    });
  }

  close(): void {
    this.isClosed = true;
    for (const sent of this.waiting.slice()) sent.answer({ kind: 'failed', status: null, reason: 'closed' });
  }
}

export interface SceneOptions {
  readonly limits?: Partial<WebhookLimits>;
  readonly hooks?: readonly Webhook[];
  readonly before?: WebhookScene;
  readonly deliveries?: DeliveryStore;
  readonly random?: () => number;
  readonly clock?: DrivenClock;
}

export class WebhookScene {
  readonly clock: DrivenClock;
  readonly log = new FakeLog();
  readonly telemetry = new FakeTelemetry();
  readonly events: MemoryLog;
  readonly registry: MemoryRegistry;
  readonly deliveries: DeliveryStore;
  readonly sender: ScriptedSender;
  readonly engine: WebhookEngine;
  readonly service: WebhookAdmin;
  readonly #life: MortalClock;

  /** The jitter is zero unless `random` is set. */
  constructor(options: SceneOptions = {}) {
    const { before, limits = {}, random = () => 0.5 } = options;
    this.clock = before?.clock ?? options.clock ?? new DrivenClock();
    this.events = before?.events ?? new MemoryLog();
    this.registry = before?.registry ?? new MemoryRegistry();
    this.deliveries = options.deliveries ?? before?.deliveries ?? new MemoryDeliveryStore();
    this.sender = new ScriptedSender(this.clock);
    if (before === undefined) this.registry.hooks.push(...(options.hooks ?? [webhook()]));
    this.#life = new MortalClock(this.clock);
    const { log, telemetry, registry, events, deliveries, sender } = this;
    const clock = this.#life;
    const deps = { clock, log, telemetry, registry, events, deliveries, sender };
    this.engine = new WebhookEngine({ ...deps, random, limits: { ...webhookLimits, ...limits } });
    this.service = new WebhookAdmin({ clock, engine: this.engine, events, deliveries, sender });
    this.engine.start(events.head);
  }

  /** Appends an event for each device and notifies once. */
  async happen(...deviceIds: readonly string[]): Promise<void> {
    for (const deviceId of deviceIds) this.events.append(deviceId);
    this.engine.advance(this.events.head);
    await this.quiet();
  }

  /** Sequences of the pending attempts, in sending order. */
  get underWay(): number[] {
    return this.sender.waiting.map(({ sequence }) => sequence);
  }

  get attempted(): number[] {
    return this.sender.sent.map(({ sequence }) => sequence);
  }

  async answer(sequence: number, answer: WebhookAnswer): Promise<void> {
    const sent = this.sender.waiting.find((waiting) => waiting.sequence === sequence);
    if (sent === undefined) throw new Error(`no attempt of ${sequence} is under way`);
    sent.answer(answer);
    await this.quiet();
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.quiet();
  }

  /** Resolves when everything that needs no time is done. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await setImmediate();
  }

  hook(url = hookUrl): Hook {
    const [hook] = this.engine.roster.find(url, null);
    if (hook === undefined) throw new Error(`no hook ${url}`);
    return hook;
  }

  /** Restarts with the committed state and the log, as after a crash. */
  crash(options: SceneOptions = {}): WebhookScene {
    this.#life.end();
    return new WebhookScene({ ...options, before: this });
  }
}
