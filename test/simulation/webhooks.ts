/**
 * Webhooks: receivers that fail, hang and lose their responses, and the server's dispatcher without its thread. Every attempt is
 * recorded from both sides.
 */
import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../src/lib/clock.ts';
import type { WebhookAnswer, WebhookMessage, WebhookSender } from '../../src/core/ports/webhook-sender.ts';
import type { EventId } from '../../src/model/ids.ts';
import type { Webhook } from '../../src/model/registry.ts';
import { webhookLimits, type WebhookLimits } from '../../src/webhooks/delivery/limits.ts';
import { WebhookDispatcher } from '../../src/webhooks/worker/webhook-dispatcher.ts';
import type { FromWebhooks, ToWebhooks, WebhookTask } from '../../src/webhooks/worker/webhook-messages.ts';
import { MortalClock } from '../support/mortal-clock.ts';
import { hooks } from './names.ts';
import type { Life, Site } from './site.ts';

/** Short enough that events are retried and parked within a run. */
export const simulatedLimits: WebhookLimits = {
  ...webhookLimits,
  retryDelaysMs: [1000, 3000, 8000, 12_000],
  probeDelayMsMax: 5000,
};
const attemptMsMax = 4000;

export interface Attempt {
  readonly url: string;
  readonly eventId: EventId;
  readonly thread: object;
  readonly begunMs: number;
  /** Time at which the sender received the result; null: never. */
  endedMs: number | null;
  isDelivered: boolean;
}

type Mood = 'well' | 'failing' | 'hanging';

export class Receivers {
  readonly attempts: Attempt[] = [];
  readonly #site: Site;
  readonly #moods = new Map<string, Mood>();
  /** Threads that have seen the delivery succeed, by URL and event. */
  readonly #known = new Map<string, Set<object>>();

  constructor(site: Site) {
    this.#site = site;
  }

  /** Changes the behaviour of a receiver at random. */
  stir(): void {
    const { chance } = this.#site;
    const lot = chance.next();
    const { url = '' } = hooks[chance.below(hooks.length)] ?? {};
    this.#moods.set(url, lot < 0.5 ? 'well' : lot < 0.8 ? 'failing' : 'hanging');
  }

  heal(): void {
    this.#moods.clear();
  }

  /** `clock`: of the thread; times out its waits. */
  send(thread: object, clock: Clock, { url }: Webhook, { id }: WebhookMessage): Promise<WebhookAnswer> {
    const { chance, evidence, timeline, weather } = this.#site;
    const eventId = id as EventId;
    const attempt: Attempt = {
      url,
      eventId,
      thread,
      begunMs: timeline.nowMs,
      endedMs: null,
      isDelivered: false,
    };
    this.attempts.push(attempt);
    evidence.count('deliveries');
    const known = this.#known.get(`${url} ${id}`) ?? new Set();
    this.#known.set(`${url} ${id}`, known);
    if (known.has(thread)) evidence.violated(12, `a delivered event is sent to ${url} again`);
    const mood = this.#moods.get(url) ?? 'well';
    const isLost = !weather.isFair && chance.next() < 0.03;
    const hangs = mood === 'hanging' || isLost;
    return new Promise((resolve) => {
      clock.after(hangs ? attemptMsMax : this.#site.delayMs(5, 200), () => {
        attempt.endedMs = timeline.nowMs;
        if (hangs) return resolve({ kind: 'failed', status: null, reason: 'no answer in time' });
        if (mood === 'failing') return resolve({ kind: 'failed', status: 500, reason: 'answered 500' });
        attempt.isDelivered = true;
        known.add(thread);
        const isMistaken = this.#site.canary?.mistakesAnswers === true && chance.next() < 0.1;
        resolve(
          isMistaken
            ? { kind: 'failed', status: 200, reason: 'a canary' }
            : { kind: 'delivered', status: 200 },
        );
      });
    });
  }
}

const messageMs = 0.05;

export function startWebhookThread(site: Site, life: Life, task: WebhookTask): Worker {
  return new WebhookThread(site, life, task) as unknown as Worker;
}

class WebhookThread extends EventEmitter {
  readonly #site: Site;
  readonly #life: Life;
  readonly #clock: MortalClock;
  readonly #dispatcher: WebhookDispatcher;
  #isFollowing = false;
  #isOver = false;

  constructor(site: Site, life: Life, task: WebhookTask) {
    super();
    const { timeline } = site;
    const { host, clock, place } = life;
    this.#site = site;
    this.#life = life;
    this.#clock = new MortalClock(clock);
    const { registry, state } = place.disk.open(timeline, host);
    const sender: WebhookSender = {
      send: (webhook, message) => site.receivers.send(this, this.#clock, webhook, message),
      close: () => undefined,
    };
    const deps = { task, clock: this.#clock, registry, state, sender, limits: simulatedLimits };
    const tables = place.disk.openWebhooks(timeline, host);
    this.#dispatcher = new WebhookDispatcher({ ...deps, tables, send: (message) => this.#send(message) });
    this.#later(() => this.#dispatcher.start(() => (this.#isFollowing = true)));
  }

  postMessage(message: ToWebhooks): void {
    this.#later(async () => {
      if (!this.#isFollowing) return;
      await this.#dispatcher.handle(message);
      if (message.kind === 'stop') this.#end();
    });
  }

  terminate(): Promise<number> {
    this.#end();
    return Promise.resolve(0);
  }

  #send(message: FromWebhooks): void {
    const { timeline } = this.#site;
    timeline.after(messageMs, this.#life.host, () => this.#isOver || this.emit('message', message));
  }

  #later(act: () => Promise<void>): void {
    const { timeline, evidence } = this.#site;
    timeline.after(messageMs, this.#life.host, () => {
      if (this.#isOver) return;
      act().catch((error: unknown) =>
        evidence.violated(9, `the webhook thread failed: ${String((error as Error).stack)}`),
      );
    });
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#clock.end();
    this.#site.timeline.after(messageMs, this.#life.host, () => this.emit('exit', 0));
  }
}
