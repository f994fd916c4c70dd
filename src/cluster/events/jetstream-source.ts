/** A stream of JetStream as a tail reads it: an ordered consumer, given up when the connection or the consumer goes. */
import type { Consumer, ConsumerMessages } from '@nats-io/jetstream';
import { tailHeartbeatMs } from './log-limits.ts';
import type { NatsLink } from '../nats/nats-link.ts';
import type { OpenTail, TailMessage, TailSource } from './stream-tail.ts';

/** What the library would mend by itself, some time: the tail begins anew at once. */
const endings: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_deleted',
  'consumer_not_found',
  'stream_not_found',
]);
const pullMsMax = 30_000;

export class JetStreamSource implements TailSource {
  readonly stream: string;
  readonly #link: NatsLink;

  constructor(link: NatsLink, stream: string) {
    this.#link = link;
    this.stream = stream;
  }

  async open(after: number, waitingMax: number): Promise<OpenTail> {
    const link = this.#link;
    const last = await this.last();
    const consumer = await link.jetstream().consumers.get(this.stream, { opt_start_seq: after + 1 });
    const { num_pending: pending } = await consumer.info(true);
    const options = { max_messages: waitingMax, expires: pullMsMax, idle_heartbeat: tailHeartbeatMs };
    const messages = await consumer.consume(options);
    const close = (): void => messages.stop();
    const unfollow = link.onChange((isUnavailable) => isUnavailable && close());
    if (link.isUnavailable) close();
    void closeWhenLost(messages);
    void messages.closed().then(() => {
      unfollow();
      void forget(consumer);
    });
    return { messages: read(messages), last, pending, close };
  }

  /** The sequence that was given last, also when nothing of it is kept. Rejects while NATS is away. */
  async last(): Promise<number> {
    if (this.#link.isUnavailable) throw new Error('NATS is away');
    const { state } = await (await this.#link.streams()).info(this.stream);
    return state.last_seq;
  }

  async newest(): Promise<number> {
    const found = await (await this.#link.streams()).getMessage(this.stream, { last_by_subj: '>' });
    return found?.seq ?? 0;
  }

  async resumeAfter(sequence: number): Promise<void> {
    await (await this.#link.streams()).purge(this.stream, { seq: sequence + 1 });
  }
}

async function* read(messages: ConsumerMessages): AsyncGenerator<TailMessage, void, undefined> {
  for await (const { subject, data, info } of messages)
    yield { sequence: info.streamSequence, subject, data, pending: info.pending };
}

async function closeWhenLost(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (endings.has(type)) messages.stop();
}

/** JetStream forgets it anyway, after some minutes. */
async function forget(consumer: Consumer): Promise<void> {
  try {
    await consumer.delete();
  } catch {
    // It is gone, or cannot be reached.
  }
}
