/**
 * The thread of the webhooks. It reads registry and log beside the main thread, from the same memory map, and has a
 * store of its own; what it does for receivers never costs the loop that devices and callers wait for.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { OpenAsks } from '../../lib/open-asks.ts';
import { messageOf, succeed } from '../../lib/result.ts';
import type { Webhook } from '../../model/registry.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { StateTables } from '../../storage/lmdb/state-tables.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { LmdbDeliveryStore, WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { WebhookEngine } from '../delivery/engine.ts';
import { HttpSender } from '../http/http-sender.ts';
import { webhookLimits } from '../delivery/limits.ts';
import { SystemNames } from '../http/checked-connections.ts';
import { ReplicatedDeliveryStore } from '../delivery/replicated-delivery-store.ts';
import { WebhookAdmin } from '../delivery/webhook-admin.ts';
import type {
  FromWebhooks,
  ToWebhooks,
  WebhookQuestion,
  WebhookReply,
  WebhookTask,
} from './webhook-messages.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Telemetry, WebhookResultLabel } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';

/** Counts cross so often. */
const countsMs = 1000;

const port = parentPort;
assert(port !== null, 'webhooks are served on a thread');
const task = workerData as WebhookTask;
const send = (message: FromWebhooks): void => port.postMessage(message);

const clock = new SystemClock();
const log = logOverPort(send);
const counts = countsOverPort(send);
const registryTables = new RegistryTables(task.directory, 'read-only');
const registry = new RegistryStore(registryTables);
const state = new StateTables(task.directory, 'read-only');
const events = new StoredEvents(state);
const tables = new WebhookTables(task.directory, 'write');
for (const { environment } of [registryTables, state, tables])
  environment.onDamage((error) =>
    send({ kind: 'damaged', file: environment.path, reason: messageOf(error) }),
  );
const stored = new LmdbDeliveryStore(tables);
/** The delivery store is written once at a time. */
const keeping = new OpenAsks<{ readonly kept: string | null }, 'unsent'>(clock, {
  max: 1,
  unsent: 'unsent',
  expired: () => 'unsent',
});
const deliveries = task.isDeliveryStoreShared ? new ReplicatedDeliveryStore(stored, keep) : stored;
const sender = new HttpSender({
  clock,
  resolver: new SystemNames(),
  allowLocal: task.allowLocal,
  userAgent: task.userAgent,
  attemptMsMax: webhookLimits.attemptMsMax,
});
const engine = new WebhookEngine({
  clock,
  log,
  telemetry: counts,
  registry: {
    webhooks: (): Iterable<Webhook> => registryTables.entries('webhook'),
    findProduct: (productId) => registry.findProduct(productId),
  },
  events,
  deliveries,
  sender,
});
const service = new WebhookAdmin({ clock, engine, events, deliveries, sender });

let hasHooks = false;
engine.start(task.head);
const stopCounting = clock.every(countsMs, () => counts.flush());
port.on('message', (message: ToWebhooks) => void take(message));
// A new hook's cursor is committed before any event: a thread that dies at once would else begin it behind them.
await engine.flush();
tellOfHooks();
send({ kind: 'ready' });

/** Who has no hook wants no events. */
function tellOfHooks(): void {
  if (engine.roster.isEmpty !== hasHooks) return;
  hasHooks = !hasHooks;
  send({ kind: 'hooks', areThere: hasHooks });
}

async function take(message: ToWebhooks): Promise<void> {
  switch (message.kind) {
    case 'head':
      events.refresh();
      return engine.advance(message.head);
    case 'registry-changed':
      registry.purge();
      events.refresh();
      engine.advance(message.head);
      engine.registryChanged();
      return tellOfHooks();
    case 'question':
      return send({ kind: 'reply', id: message.id, reply: await answer(message.question) });
    case 'kept':
      return void keeping.answered(message.id, 'kept', message.fault);
    case 'stop':
      return stop();
  }
}

/** Resolves when the main thread has kept it. */
async function keep(changes: readonly HookChanges[]): Promise<void> {
  const kept = await keeping.ask('kept', Infinity, (id) => {
    send({ kind: 'delivery store', id, changes });
    return true;
  });
  const fault = kept.ok ? kept.value : kept.error;
  if (fault !== null) throw new Error(fault);
}

async function answer(question: WebhookQuestion): Promise<WebhookReply> {
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

async function stop(): Promise<void> {
  await engine.stop();
  stopCounting();
  counts.flush();
  await Promise.all([
    tables.environment.close(),
    state.environment.close(),
    registryTables.environment.close(),
  ]);
  port?.close();
}

type Send = (message: FromWebhooks) => void;

interface Counts extends Pick<Telemetry, 'webhookDelivery'> {
  /** Sends what was counted since the last time. */
  flush(): void;
}

function countsOverPort(send: Send): Counts {
  let counts = new Map<WebhookResultLabel, number>();
  return {
    webhookDelivery: (result, count) => void counts.set(result, (counts.get(result) ?? 0) + count),
    flush() {
      if (counts.size > 0) send({ kind: 'counts', counts });
      counts = new Map();
    },
  };
}

function logOverPort(send: Send): Log {
  const at =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) =>
      send({ kind: 'log', level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
