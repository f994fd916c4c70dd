/**
 * The webhook thread without its thread: the engine over the given stores, and the messages from and to the main thread.
 */
import type { Clock } from '../../lib/clock.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { succeed } from '../../lib/result.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { Log } from '../../lib/log.ts';
import type { WebhookSender } from '../../core/ports/webhook-sender.ts';
import type { Webhook } from '../../model/registry.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { LmdbDeliveryStore, type WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import type { Telemetry, WebhookResultLabel } from '../../telemetry/telemetry.ts';
import { WebhookEngine } from '../delivery/engine.ts';
import type { WebhookLimits } from '../delivery/limits.ts';
import { WebhookAdmin } from '../delivery/webhook-admin.ts';
import type {
  FromWebhooks,
  ToWebhooks,
  WebhookQuestion,
  WebhookReply,
  WebhookTask,
} from './webhook-messages.ts';

export interface WebhookDispatcherDeps {
  readonly task: Pick<WebhookTask, 'head' | 'isDeliveryStoreShared'>;
  readonly clock: Clock;
  readonly registry: RegistryTables;
  readonly state: StateTables;
  readonly tables: WebhookTables;
  readonly sender: WebhookSender;
  readonly send: (message: FromWebhooks) => void;
  readonly limits?: WebhookLimits;
}

const countsMs = 1000;

export class WebhookDispatcher {
  readonly #deps: WebhookDispatcherDeps;
  readonly #registry: RegistryStore;
  readonly #events: StoredEvents;
  readonly #engine: WebhookEngine;
  readonly #service: WebhookAdmin;
  readonly #counts: Counts;
  /** Commits to the shared delivery store, one at a time. */
  readonly #keeping: OpenAsks<{ readonly kept: string | null }, 'unsent'>;
  #hasHooks = false;
  #stopCounting = (): void => undefined;

  constructor(deps: WebhookDispatcherDeps) {
    const { task, clock, registry: registryTables, state, tables, sender, send, limits } = deps;
    this.#deps = deps;
    this.#registry = new RegistryStore(registryTables);
    this.#events = new StoredEvents(state);
    this.#counts = countsOver(send);
    this.#keeping = new OpenAsks(clock, { max: 1, unsent: 'unsent', expired: () => 'unsent' });
    const keep = (changes: readonly HookChanges[]): Promise<void> => this.#keep(changes);
    const deliveries = new LmdbDeliveryStore(tables, task.isDeliveryStoreShared ? keep : null);
    const events = this.#events;
    this.#engine = new WebhookEngine({
      clock,
      log: logOver(send),
      telemetry: this.#counts,
      registry: {
        webhooks: (): Iterable<Webhook> => registryTables.entries('webhook'),
        findProduct: (productId) => this.#registry.findProduct(productId),
      },
      events,
      deliveries,
      sender,
      ...(limits && { limits }),
    });
    this.#service = new WebhookAdmin({ clock, engine: this.#engine, events, deliveries, sender });
  }

  /** Resolves once `ready` is sent. `follow` attaches the handler of messages, before the first wait. */
  async start(follow: () => void): Promise<void> {
    const { task, clock, send } = this.#deps;
    this.#engine.start(task.head);
    this.#stopCounting = clock.every(countsMs, () => this.#counts.flush());
    follow();
    // Commit a new hook's cursor before any event: a thread that dies at once would otherwise restart it after them.
    await this.#engine.flush();
    this.#notifyHooks();
    send({ kind: 'ready' });
  }

  /** `stop` resolves when all attempts have ended. */
  async handle(message: ToWebhooks): Promise<void> {
    switch (message.kind) {
      case 'head':
        this.#events.refresh();
        return this.#engine.advance(message.head);
      case 'registry-changed':
        this.#registry.purge();
        this.#events.refresh();
        this.#engine.advance(message.head);
        this.#engine.registryChanged();
        return this.#notifyHooks();
      case 'question':
        return this.#deps.send({
          kind: 'reply',
          id: message.id,
          reply: await this.#answer(message.question),
        });
      case 'kept':
        return void this.#keeping.answered(message.id, 'kept', message.fault);
      case 'stop':
        return this.#stop();
    }
  }

  /** Without hooks, the main thread sends no heads. */
  #notifyHooks(): void {
    if (this.#engine.roster.isEmpty !== this.#hasHooks) return;
    this.#hasHooks = !this.#hasHooks;
    this.#deps.send({ kind: 'hooks', areThere: this.#hasHooks });
  }

  /** Resolves when the main thread has committed the changes. */
  async #keep(changes: readonly HookChanges[]): Promise<void> {
    const kept = await this.#keeping.ask('kept', Infinity, (id) => {
      this.#deps.send({ kind: 'delivery store', id, changes });
      return true;
    });
    const fault = kept.ok ? kept.value : kept.error;
    if (fault !== null) throw new Error(fault);
  }

  async #answer(question: WebhookQuestion): Promise<WebhookReply> {
    const service = this.#service;
    switch (question.kind) {
      case 'list':
        return succeed(service.list());
      case 'backlog':
        return service.backlog();
      case 'show':
        return service.show(question.name, question.after, question.limit);
      case 'test':
        return service.test(question.name);
      case 'replay':
        return service.replay(question.name, question.eventId);
      case 'enable':
        return service.enable(question.name);
    }
  }

  async #stop(): Promise<void> {
    await this.#engine.stop();
    this.#stopCounting();
    this.#counts.flush();
  }
}

type Send = (message: FromWebhooks) => void;

interface Counts extends Pick<Telemetry, 'webhookDelivery'> {
  flush(): void;
}

function countsOver(send: Send): Counts {
  let counts = new Map<WebhookResultLabel, number>();
  return {
    webhookDelivery(result: WebhookResultLabel, count = 1) {
      counts.set(result, (counts.get(result) ?? 0) + count);
    },
    flush() {
      if (counts.size > 0) send({ kind: 'counts', counts });
      counts = new Map();
    },
  };
}

function logOver(send: Send): Log {
  const at =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) =>
      send({ kind: 'log', level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
