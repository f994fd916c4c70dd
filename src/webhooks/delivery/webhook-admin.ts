/** Administration of webhooks: list, show, test, replay, enable. Source: events.md, Webhooks. */
import type { Clock } from '../../lib/clock.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';
import { generateMessageId, type EventId } from '../../model/ids.ts';
import type { DeliveryFailure, ParkedEvent } from '../../core/ports/delivery-store.ts';
import type { WebhookMessage } from '../../core/ports/webhook-sender.ts';
import { formatTimestamp, timestampOrNull } from '../../protocol/rest/shared-fields.ts';
import type { WebhookEngine, WebhookEngineDeps } from './engine.ts';
import type { Hook } from './hook.ts';
import { parkedShownMax, replayEventsMax, testsMax } from './limits.ts';
import { maskUrl, severalNamed } from '../../model/registry.ts';

export interface WebhookAdminDeps extends Pick<
  WebhookEngineDeps,
  'clock' | 'events' | 'deliveries' | 'sender'
> {
  readonly engine: WebhookEngine;
}

/** `appId` null: the only application with this url. */
export interface WebhookName {
  readonly url: string;
  readonly appId: string | null;
}

/** Nothing was done. */
export interface WebhookAdminRefusal {
  readonly kind: 'unknown' | 'ambiguous' | 'busy' | 'unavailable';
  readonly message: string;
}

/** Plain values, since they cross a thread boundary. Times are ISO 8601. */
export type WebhookAnswers = {
  readonly [Kind in 'list' | 'backlog' | 'show' | 'test' | 'replay' | 'enable']: Value<
    Awaited<ReturnType<WebhookAdmin[Kind]>>
  >;
};
type Value<Answer> = Answer extends { readonly ok: true; readonly value: infer Given }
  ? Given
  : Extract<Answer, readonly unknown[]>;

export class WebhookAdmin {
  readonly #deps: WebhookAdminDeps;
  #tests = 0;
  /** Replays run one after another: a concurrent one would select the same events. */
  readonly #replays = new SerialQueue();

  constructor(deps: WebhookAdminDeps) {
    this.#deps = deps;
  }

  list(): WebhookJson[] {
    const { engine } = this.#deps;
    return Array.from(engine.roster.hooks(), (hook) => describeHook(hook, engine.head));
  }

  /** Called at every scrape of the metrics. */
  backlog() {
    const hooks = { on: 0, 'open-circuit': 0, off: 0 };
    const backlog = { behind: 0, failed: 0, parked: 0 };
    for (const { state, behind, failed, parked } of this.list()) {
      hooks[state] += 1;
      backlog.parked += parked;
      if (state === 'off') continue;
      backlog.behind += behind;
      backlog.failed += failed;
    }
    const { clock } = this.#deps;
    const nowMs = clock.wallMs();
    try {
      return succeed({ hooks, backlog, oldestS: Math.max(0, nowMs - this.#oldestMs(nowMs)) / 1000 });
    } catch (error) {
      return notDone('unavailable', `the store cannot be read: ${messageOf(error)}`);
    }
  }

  /** Includes parked events with a sequence above `after`, at most `limit` and `parkedShownMax`. */
  show(name: WebhookName, after: number, limit: number) {
    const found = this.#find(name);
    if (!found.ok) return found;
    const { engine, deliveries } = this.#deps;
    const parked = deliveries.parked(found.value.number, after, Math.min(limit, parkedShownMax));
    const webhook = describeHook(found.value, engine.head);
    /** Parked events in log order. */
    return succeed({ webhook, parked: parked.map(describeParked) });
  }

  /** Sends a `webhook.test` message once, in any state of the webhook; stores nothing. */
  async test(name: WebhookName) {
    const found = this.#find(name);
    if (!found.ok) return found;
    if (this.#tests >= testsMax) return notDone('busy', `${testsMax} tests are running; try again later`);
    const { clock, sender } = this.#deps;
    const startedMs = clock.monotonicMs();
    this.#tests += 1;
    const answer = await sender.send(found.value.webhook, testMessage(clock));
    this.#tests -= 1;
    const isDelivered = answer.kind === 'delivered';
    return succeed({
      delivered: isDelivered,
      // Null: no complete answer arrived.
      status: answer.status,
      reason: isDelivered ? null : answer.reason,
      took_ms: Math.round(clock.monotonicMs() - startedMs),
    });
  }

  /** Replays one parked event, or the oldest ones: at most `replayEventsMax`, and no more than fit among the failed. */
  replay(name: WebhookName, eventId: EventId | null) {
    return this.#replays.run(() => this.#replay(name, eventId));
  }

  enable(name: WebhookName) {
    const found = this.#find(name);
    if (!found.ok) return found;
    found.value.enable();
    this.#deps.engine.poke(found.value);
    return succeed(describeHook(found.value, this.#deps.engine.head));
  }

  /** Time of the oldest undelivered event, unread or failed; `nowMs` if none. Throws when a store cannot be read. */
  #oldestMs(nowMs: number): number {
    const { engine, events, deliveries } = this.#deps;
    const on = Array.from(engine.roster.hooks()).filter(({ isOff }) => !isOff);
    const cursor = Math.min(...on.map((hook) => hook.record().cursor));
    const [behind] = cursor < engine.head ? events.read(cursor, 1, engine.head) : [];
    let oldestMs = behind?.atMs ?? nowMs;
    for (const { failed, number } of on)
      if (failed > 0)
        for (const { event } of deliveries.failed(number)) {
          oldestMs = Math.min(oldestMs, event.atMs);
          break;
        }
    return oldestMs;
  }

  async #replay(name: WebhookName, eventId: EventId | null) {
    const { engine, deliveries } = this.#deps;
    if (!(await engine.flush())) return notDone('busy', 'the webhook store rejects writes; see the log');
    const found = this.#find(name);
    if (!found.ok) return found;
    const hook = found.value;
    const limit = Math.min(replayEventsMax, hook.replayRoom);
    if (limit === 0) return succeed({ replayed: 0, parked: hook.record().parked });
    const one = eventId === null ? null : await deliveries.findParked(hook.number, eventId);
    if (eventId !== null && one === null)
      return notDone('unknown', `no event ${eventId} is parked for this webhook`);
    const parked = one === null ? deliveries.parked(hook.number, 0, limit) : [one];
    hook.replay(parked);
    engine.poke(hook);
    return succeed({ replayed: parked.length, parked: hook.record().parked });
  }

  #find({ url, appId }: WebhookName): Result<Hook, WebhookAdminRefusal> {
    const [hook, other] = this.#deps.engine.roster.find(url, appId);
    const shown = maskUrl(url);
    if (hook === undefined) return notDone('unknown', `no webhook ${shown} in the registry`);
    if (other === undefined) return succeed(hook);
    return notDone('ambiguous', severalNamed(shown));
  }
}

/** Has the form of an event and a type of its own. */
function testMessage(clock: Clock): WebhookMessage {
  const id = generateMessageId();
  const at = formatTimestamp(clock.wallMs());
  const nothing = { device_id: null, seq: null, epoch: null, data: {} };
  return { id, body: JSON.stringify({ id, type: 'webhook.test', at, ...nothing }) };
}

export type WebhookJson = ReturnType<typeof describeHook>;

function describeHook(hook: Hook, head: number) {
  const { appId, url, types } = hook.webhook;
  const { cursor, parked, switchedOff, lastSuccessAtMs, lastFailure } = hook.record();
  const onState = hook.isCircuitOpen ? ('open-circuit' as const) : ('on' as const);
  return {
    app_id: appId,
    url: maskUrl(url),
    types,
    // `open-circuit`: it keeps failing, and one event at a time is sent; `off`: it answered 410.
    state: switchedOff === null ? onState : ('off' as const),
    // Events after its cursor, of all applications.
    behind: Math.max(0, head - cursor),
    failed: hook.failed,
    parked,
    last_success_at: timestampOrNull(lastSuccessAtMs),
    last_failure: lastFailure && describeFailure(lastFailure),
    switched_off_at: timestampOrNull(switchedOff?.atMs ?? null),
  };
}

export type ParkedJson = ReturnType<typeof describeParked>;

function describeParked({ event, failure }: ParkedEvent) {
  const { id, sequence, type, deviceId, atMs } = event;
  const at = formatTimestamp(atMs);
  return { event_id: id, sequence, type, device_id: deviceId, at, last_failure: describeFailure(failure) };
}

export type FailureJson = ReturnType<typeof describeFailure>;

function describeFailure({ atMs, status, reason }: DeliveryFailure) {
  return { at: formatTimestamp(atMs), status, reason };
}

function notDone(kind: WebhookAdminRefusal['kind'], message: string) {
  return fail<WebhookAdminRefusal>({ kind, message });
}
