/**
 * Entry point of the webhook thread. It reads the registry and the log from the same memory map as the main thread, and has
 * its own store, so that deliveries never occupy the event loop that serves devices and backends.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { messageOf } from '../../lib/result.ts';
import { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { StateTables } from '../../storage/lmdb/state-tables.ts';
import { WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { HttpSender } from '../http/http-sender.ts';
import { webhookLimits } from '../delivery/limits.ts';
import { SystemNames } from '../http/checked-connections.ts';
import { WebhookDispatcher } from './webhook-dispatcher.ts';
import type { FromWebhooks, ToWebhooks, WebhookTask } from './webhook-messages.ts';
import { faultOf } from '../../storage/lmdb/store-fault.ts';

const port = parentPort;
assert(port !== null, 'webhooks are served on a thread');
const task = workerData as WebhookTask;

const clock = new SystemClock();
const registry = new RegistryTables(task.directory);
const state = new StateTables(task.directory);
const tables = new WebhookTables(task.directory);
const send = (message: FromWebhooks): void => port.postMessage(message);
for (const { environment } of [registry, state, tables])
  environment.onFault((error) =>
    send({ kind: 'fault', file: environment.path, reason: messageOf(error), fault: faultOf(error) }),
  );
const sender = new HttpSender({
  clock,
  resolver: new SystemNames(),
  allowLocal: task.allowLocal,
  userAgent: task.userAgent,
  attemptMsMax: webhookLimits.attemptMsMax,
});
const dispatcher = new WebhookDispatcher({
  task,
  clock,
  registry,
  state,
  tables,
  sender,
  send,
});
void dispatcher.start(() => port.on('message', (message: ToWebhooks) => void handle(message)));

async function handle(message: ToWebhooks): Promise<void> {
  await dispatcher.handle(message);
  if (message.kind !== 'stop') return;
  await Promise.all([tables.environment.close(), state.environment.close(), registry.environment.close()]);
  port?.close();
}
